import { expect, test } from "vitest";
import { isLoopbackAddress } from "../../src/kernel/loopback-address.ts";

test.each(["localhost", "LOCALHOST", "::1", "[::1]", "127.0.0.1", "127.255.255.255", "127.1.20.199", "::ffff:127.0.0.1", "::FFFF:127.9.8.7"])(
  "%s is reached from this machine only",
  (address) => {
    expect(isLoopbackAddress(address)).toBe(true);
  },
);

test.each([
  "",
  "0.0.0.0",
  "::",
  "128.0.0.1",
  "127.0.0",
  "127.0.0.256",
  "127.0.0.01",
  "127.0.0.1.example.org",
  "127.0.0.1.1",
  "example.org",
  "localhost.example.org",
  "::ffff:10.0.0.1",
  "1127.0.0.1",
  "127.0.0.1\n",
  "::1%lo",
])("%j is not", (address) => {
  expect(isLoopbackAddress(address)).toBe(false);
});
