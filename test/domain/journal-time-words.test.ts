import { describe, expect, test } from "vitest";
import { timeOfQuestion } from "../../src/domain/journal/time-words.ts";

/** A Wednesday. */
const now = new Date(2027, 0, 13, 15, 30);
const day = (month: number, date: number, year = 2027): number => new Date(year, month - 1, date).getTime();
const of = (question: string) => {
  const timed = timeOfQuestion(question, now.getTime());
  return timed && { from: timed.range.fromMs, until: timed.range.untilMs, rest: timed.rest };
};
const yesterday = { from: day(1, 12), until: day(1, 13) };
const lastWeek = { from: day(1, 4), until: day(1, 11) };

describe("a question about a time alone", () => {
  test.each([
    ["what did I do last week", lastWeek],
    ["what happened yesterday?", yesterday],
    ["what have we worked on since Monday", { from: day(1, 11), until: undefined }],
    ["what did we do on Friday", { from: day(1, 8), until: day(1, 9) }],
    ["what was done three days ago", { from: day(1, 10), until: day(1, 11) }],
    ["two weeks ago", { from: day(12, 27, 2026), until: day(1, 3) }],
    ["what did I do this morning", { from: day(1, 13), until: undefined }],
    ["what happened on 2027-01-05", { from: day(1, 5), until: day(1, 6) }],
    ["since 2027-01-05", { from: day(1, 5), until: undefined }],
    ["what was done last month", { from: day(12, 1, 2026), until: day(1, 1) }],
    ["was habe ich letzte Woche gemacht", lastWeek],
    ["woran haben wir gestern gearbeitet", yesterday],
    ["was ist vor drei Tagen passiert", { from: day(1, 10), until: day(1, 11) }],
    ["qu'avons-nous fait la semaine dernière", lastWeek],
    ["qu'est-ce que j'ai fait hier", yesterday],
    ["qué hicimos la semana pasada", lastWeek],
    ["qué hice ayer", yesterday],
    ["что мы делали на прошлой неделе", lastWeek],
    ["что делали вчера", yesterday],
    ["我昨天做了什么", yesterday],
    ["上周做了什么", lastWeek],
    ["昨日何をしましたか", yesterday],
    ["先週の作業", lastWeek],
    ["ماذا فعلت أمس", yesterday],
    ["ماذا فعلنا الأسبوع الماضي", lastWeek],
  ])("%s", (question, range) => {
    expect(of(question)).toEqual({ ...range, rest: undefined });
  });
});

describe("a question about something at a time", () => {
  test.each([
    ["which migration failed yesterday", yesterday, /migration failed/],
    ["welche Migration ist gestern gescheitert", yesterday, /Migration/],
    ["昨天的数据库迁移", yesterday, /数据库迁移/],
  ])("%s keeps the rest", (question, range, rest) => {
    expect(of(question)).toEqual({ ...range, rest: expect.stringMatching(rest) });
  });
});

test.each(["how do we deploy", "the release of version 2027", "weekly report", "todayish", "on 2027-02-30", "monday.com integration".slice(7)])(
  "%s is about no time",
  (question) => {
    expect(of(question)).toBeUndefined();
  },
);
