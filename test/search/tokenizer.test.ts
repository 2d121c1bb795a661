import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tokens } from "../../src/search/tokenizer.ts";
import { propertySeed } from "../support/property-seed.ts";

const terms = (text: string): Set<string> => new Set(Array.from(tokens(text), ({ term }) => term));
const full = (text: string): string[] => Array.from(tokens(text)).flatMap(({ term, role }) => (role === "word" || role === "characters" ? [term] : []));
/** Terms that two texts share, beginnings of words left out: those are a weaker bond. */
const shared = (a: string, b: string): string[] => [...terms(a)].filter((term) => terms(b).has(term) && !term.endsWith("*"));

describe("a word is found", () => {
  test.each([
    ["in another form", "retried connections", "retry the connection"],
    ["in another case", "DEADLOCK", "deadlock"],
    ["without its accents", "Größe naïve café", "grosse naive cafe"],
    ["with its genitive", "the worker's", "workers"],
    ["in full width", "Ｒｅｄｉｓ", "redis"],
    ["in another Russian form", "резервных копий", "резервная копия"],
    ["in Devanagari, whose vowels are marks", "बैकअप रात में चलता है", "बैकअप"],
    ["in Arabic with and without the article, vowel signs and endings", "النُّسَخ الفواتير", "نسخ فواتير"],
  ])("%s", (_, note, question) => {
    const asked = full(question);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((term) => !terms(note).has(term))).toEqual([]);
  });

  test("by its beginning, for words that no rule covers", () => {
    expect([...terms("Verbindungsabbruch")].filter((term) => terms("Verbindung").has(term))).toEqual(["verbi*"]);
  });
});

describe("an identifier is found", () => {
  test.each([
    ["retryQueue", "retry queue"],
    ["MAX_POOL_SIZE", "max pool size"],
    ["HTTPServer2", "http server"],
    ["src/worker.ts", "worker"],
    ["parseInvoiceLine(text)", "invoice parse"],
  ])("%s by its parts", (note, question) => {
    expect(full(question).filter((term) => !terms(note).has(term))).toEqual([]);
  });

  test.each([
    ["retryQueue", "retryqueue"],
    ["max_pool_size", "maxPoolSize"],
    ["sign-in", "signin"],
    ["worker.ts", "the file worker.ts"],
    ["release 2.8.3", "2.8.3"],
    ["4f2a9c1", "4F2A9C1"],
  ])("%s as a whole", (note, question) => {
    const wholes = Array.from(tokens(question)).flatMap(({ term, role }) => (role === "whole" ? [term] : []));
    const asked = wholes.length > 0 ? wholes : full(question);
    expect(asked.filter((term) => !terms(note).has(term))).toEqual([]);
  });

  test("2.8.3 is not 283", () => {
    expect(shared("2.8.3", "283")).toEqual([]);
  });
});

describe("scripts without spaces", () => {
  test.each([
    ["Chinese", "数据库连接池的最大连接数是二十", "连接池"],
    ["Japanese", "画像の縮小処理でメモリが漏れていた", "縮小処理"],
    ["Thai", "การเชื่อมต่อฐานข้อมูลหลุด", "ฐานข้อมูล"],
    ["Chinese beside English", "使用Redis缓存", "redis"],
  ])("a word inside a %s sentence is found", (_, note, question) => {
    expect(full(question).length).toBeGreaterThan(0);
    expect(full(question).filter((term) => !terms(note).has(term))).toEqual([]);
  });

  test("what only makes a sentence a question is not asked for", () => {
    expect(full("登录令牌多久过期")).toEqual(full("登录令牌 过期"));
    expect(full("金額はいつ")).toEqual(full("金額は"));
    expect(full("ทำไมหน้าค้นหาช้า")).toEqual(full("หน้าค้นหาช้า"));
  });

  test("characters that carry grammar count less than those that carry meaning", () => {
    const weights = new Map(Array.from(tokens("連接の池"), ({ term, weight }) => [term, weight]));
    expect(weights.get("連接")).toBeGreaterThan(weights.get("接の") as number);
  });
});

test("question words and other words without content are no terms, in six languages", () => {
  for (const text of ["how is it, and why?", "warum und wie wird der", "por qué y cuándo", "pourquoi et comment", "почему и когда", "لماذا و متى"])
    expect(full(text).filter((term) => term.length > 1)).toEqual([]);
});

test("any text gives well-formed terms without NUL, the same each time, none longer than its limit", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      const found = [...tokens(text)];
      expect(found).toEqual([...tokens(text)]);
      for (const { term, weight } of found) {
        expect(term.isWellFormed() && !term.includes("\0") && term !== "").toBe(true);
        expect([...term].length).toBeLessThanOrEqual(65);
        expect(weight).toBeGreaterThan(0);
      }
    }),
    { seed: propertySeed },
  );
});
