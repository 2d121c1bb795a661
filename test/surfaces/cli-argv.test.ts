import { describe, expect, test } from "vitest";
import { nearest } from "../../src/kernel/nearest.ts";
import { parseArgv } from "../../src/surfaces/cli/argv.ts";

const specs = [{ name: "ttl", takes: "DURATION" }, { name: "json" }, { name: "tags", aliases: ["tag"], takes: "NAME=VALUE", repeats: true }, { name: "help" }];

describe("the command line's arguments", () => {
  test("flags may stand anywhere, with a space or an equals sign", () => {
    expect(parseArgv(["a", "--ttl", "5s", "b", "--json"], specs)).toEqual({ flags: { ttl: "5s", json: true }, words: ["a", "b"] });
    expect(parseArgv(["--ttl=5s=x"], specs).flags).toEqual({ ttl: "5s=x" });
  });

  test("a repeatable flag gathers its values under either name", () => {
    expect(parseArgv(["--tag", "a=1", "--tags", "b=2"], specs).flags).toEqual({ tags: ["a=1", "b=2"] });
  });

  test("a lone dash, a negative number and an empty text are words; a value may begin with a dash", () => {
    expect(parseArgv(["-", "-1", ""], specs).words).toEqual(["-", "-1", ""]);
    expect(parseArgv(["--ttl", "-1"], specs).flags).toEqual({ ttl: "-1" });
  });

  test("words after -- are not parsed", () => {
    expect(parseArgv(["x", "--", "cmd", "--json"], specs)).toEqual({ flags: {}, words: ["x"], rest: ["cmd", "--json"] });
  });

  test("a switch is turned off by --no-, and the short forms work", () => {
    expect(parseArgv(["--no-json", "-h"], specs).flags).toEqual({ json: false, help: true });
  });

  test("reading stops before the first word when asked", () => {
    expect(parseArgv(["--json", "get", "--odd"], specs, { untilWord: true })).toEqual({ flags: { json: true }, words: ["get", "--odd"] });
  });

  test.each([
    [["--tll", "5"], /--tll: unknown flag; did you mean --ttl\?/],
    [["--zzzzz"], /--zzzzz: unknown flag$/],
    [["--ttl"], /--ttl: needs a value: --ttl DURATION/],
    [["--json=yes"], /--json: is a switch/],
    [["--ttl", "1", "--ttl", "2"], /--ttl: may be given once/],
    [["--no-ttl"], /--no-ttl: unknown flag/],
  ])("%j is refused", (args, message) => {
    expect(() => parseArgv(args, specs)).toThrow(message);
  });
});

describe("suggestions", () => {
  test.each([
    ["lese", "lease"],
    ["dcotor", "doctor"],
    ["work", "workflow"],
  ])("%s is taken for %s", (word, meant) => {
    expect(nearest(word, ["get", "lease", "doctor", "workflow"])).toBe(meant);
  });

  test("nothing is suggested for a word that resembles none", () => {
    expect(nearest("xylophone", ["get", "lease"])).toBeUndefined();
  });
});
