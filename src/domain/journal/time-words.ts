import { tokens } from "../../search/tokenizer.ts";
import type { TimeRange } from "./time-range.ts";
import { parseTimeRange } from "./time-range.ts";

/** A question that names a time: "what did I do last week", "что делали вчера", "昨天做了什么". */
export interface TimedQuestion {
  readonly range: TimeRange;
  /** The words of the question that name the time. */
  readonly words: string;
  /** The rest of the question; undefined if it only asks what happened at that time. */
  readonly rest: string | undefined;
}

type Unit = "day" | "week" | "month";
type Meaning = "today" | "yesterday" | "before yesterday" | "this week" | "last week" | "this month" | "last month";

/** Matches whole words only. Scripts without spaces have no word boundaries, so `anywhere` is used for them. */
const word = (alternatives: string): RegExp => new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${alternatives})(?![\p{L}\p{N}])`, "iu");
const anywhere = (alternatives: string): RegExp => new RegExp(alternatives, "u");

/** Longer phrases come first, because "the day before yesterday" contains "yesterday". */
const phrases: readonly (readonly [RegExp, Meaning])[] = [
  [word("the day before yesterday|vorgestern|avant-hier|anteayer|позавчера|أول أمس|أول من أمس"), "before yesterday"],
  [anywhere("前天|一昨日|おととい"), "before yesterday"],
  [word("yesterday|gestern|hier|ayer|вчера|أمس|البارحة"), "yesterday"],
  [anywhere("昨天|昨日|きのう"), "yesterday"],
  [word("today|this morning|this afternoon|heute(?: morgen| früh| vormittag| nachmittag)?|aujourd['’]hui|ce matin|hoy|esta mañana|сегодня|اليوم|هذا الصباح"), "today"],
  [anywhere("今天|今日|きょう|今早|今朝"), "today"],
  [word("last week|the past week|letzte[rn]? woche|vorige[rn]? woche|la semaine derni[eè]re|la semana pasada|(?:на )?прошлой неделе|الأسبوع الماضي"), "last week"],
  [anywhere("上周|上星期|上个星期|先週"), "last week"],
  [word("this week|diese[rn]? woche|cette semaine|esta semana|(?:на )?этой неделе|هذا الأسبوع"), "this week"],
  [anywhere("本周|这周|这个星期|今週"), "this week"],
  [word("last month|letzte[nrs]? monat|vorige[nr]? monat|le mois dernier|el mes pasado|(?:в )?прошлом месяце|الشهر الماضي"), "last month"],
  [anywhere("上个月|先月"), "last month"],
  [word("this month|diese[nrs]? monat|ce mois-ci|este mes|(?:в )?этом месяце|هذا الشهر"), "this month"],
  [anywhere("这个月|本月|今月"), "this month"],
];

const numbers: Readonly<Record<string, number>> = Object.fromEntries(
  [
    ["a", "an", "one", "ein", "einem", "einer", "eine", "un", "une", "una", "один", "одну", "一", "1"],
    ["two", "zwei", "deux", "dos", "два", "две", "二", "两", "2"],
    ["three", "drei", "trois", "tres", "три", "三", "3"],
    ["four", "vier", "quatre", "cuatro", "четыре", "四", "4"],
    ["five", "fünf", "cinq", "cinco", "пять", "五", "5"],
    ["six", "sechs", "seis", "шесть", "六", "6"],
    ["seven", "sieben", "sept", "siete", "семь", "七", "7"],
  ].flatMap((names, i) => names.map((name) => [name, i + 1] as const)),
);
const count = `(\\d{1,3}|${Object.keys(numbers)
  .filter((name) => !/^\d/u.test(name))
  .join("|")})`;
const unitNames: readonly (readonly [string, Unit])[] = [
  ["days?|tage?n?|jours?|d[ií]as?|дней|дня|день|天|日|أيام|يوم", "day"],
  ["weeks?|wochen?|semaines?|semanas?|недел[юиь]|周|个?星期|週間|أسابيع|أسبوع", "week"],
  ["months?|monate?n?|mois|mes(?:es)?|месяц(?:а|ев)?|个?月|か月|ヶ月|أشهر|شهر", "month"],
];
/** `N units ago`, in the word order of each language. */
const ago = (unit: string): RegExp =>
  new RegExp(String.raw`(?<![\p{L}\p{N}])(?:(?:vor|il y a|hace|قبل|منذ)\s+)?${count}\s*(?:${unit})\s*(?:ago|назад|之?前)?(?![\p{L}\p{N}])`, "iu");
const units = unitNames.map(([names, unit]) => [ago(names), unit] as const);
const marksAgo = /ago|назад|前|vor\s|il y a|hace\s|قبل|منذ/iu;

/** Sunday first, as in `Date.getDay`. */
const weekdays: readonly string[] = [
  "sunday|sonntag|dimanche|domingo|воскресень[ея]|星期[日天]|周日|日曜日?|الأحد",
  "monday|montag|lundi|lunes|понедельника?|星期一|周一|月曜日?|الاثنين",
  "tuesday|dienstag|mardi|martes|вторника?|星期二|周二|火曜日?|الثلاثاء",
  "wednesday|mittwoch|mercredi|mi[eé]rcoles|сред[уы]|星期三|周三|水曜日?|الأربعاء",
  "thursday|donnerstag|jeudi|jueves|четверга?|星期四|周四|木曜日?|الخميس",
  "friday|freitag|vendredi|viernes|пятниц[уы]|星期五|周五|金曜日?|الجمعة",
  "saturday|samstag|sonnabend|samedi|s[aá]bado|суббот[уы]|星期六|周六|土曜日?|السبت",
];
/** A letter of a script with spaces next to a weekday's name, which makes the name part of another word. */
const spacedLetter = String.raw`[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Arabic}\p{N}]`;
const sinceMark = `since|seit|depuis|desde(?: el)?|с|со|自从?|从|منذ`;
const onMark = `on|last|am|letzten|le|el|в|во|上个?|يوم`;
const weekdayForms = weekdays.map((names) => new RegExp(`(?<!${spacedLetter})(?:(?:(${sinceMark})|${onMark})\\s*)?(?:${names})(?:以来|から)?(?!${spacedLetter})`, "iu"));
const datedForm = new RegExp(String.raw`(?:(${sinceMark})\s*)?(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)`, "iu");

/** The time range that a question names in plain words, in local time; undefined if it names none. */
export function timeOfQuestion(question: string, nowMs: number): TimedQuestion | undefined {
  const found = rangeIn(question, nowMs);
  if (found === undefined) return undefined;
  const rest = question.replace(found.words, " ");
  return { ...found, rest: asksForMore(rest) ? rest.trim() : undefined };
}

function rangeIn(question: string, nowMs: number): Omit<TimedQuestion, "rest"> | undefined {
  const now = new Date(nowMs);
  const date = datedForm.exec(question);
  if (date !== null) {
    const fromMs = validDate(date[2] as string, nowMs);
    if (fromMs !== undefined) return { words: date[0], range: date[1] === undefined ? { fromMs, untilMs: startOf(new Date(fromMs), 1) } : { fromMs } };
  }
  for (const [form, meaning] of phrases) {
    const words = form.exec(question)?.[0];
    if (words !== undefined) return { words, range: rangeOf(meaning, now) };
  }
  for (const [form, unit] of units) {
    const [words, amount] = form.exec(question) ?? [];
    const many = Number(amount) || numbers[amount?.toLowerCase() ?? ""];
    if (words === undefined || many === undefined || !marksAgo.test(words)) continue;
    return { words, range: agoRange(now, many, unit) };
  }
  for (const day of weekdays.keys()) {
    const [words, since] = (weekdayForms[day] as RegExp).exec(question) ?? [];
    if (words === undefined) continue;
    const back = (now.getDay() - day + 7) % 7 || 7;
    const isOpen = since !== undefined || /以来|から/u.test(words);
    return { words, range: isOpen ? { fromMs: startOf(now, -back) } : { fromMs: startOf(now, -back), untilMs: startOf(now, 1 - back) } };
  }
  return undefined;
}

function validDate(text: string, nowMs: number): number | undefined {
  try {
    return parseTimeRange("query", text, nowMs).fromMs;
  } catch {
    // The text looks like a date but is not a valid one, so it is treated as ordinary text.
    return undefined;
  }
}

function rangeOf(meaning: Meaning, now: Date): TimeRange {
  // Weeks begin on Monday.
  const monday = -((now.getDay() + 6) % 7);
  switch (meaning) {
    case "today":
      return { fromMs: startOf(now, 0) };
    case "yesterday":
      return { fromMs: startOf(now, -1), untilMs: startOf(now, 0) };
    case "before yesterday":
      return { fromMs: startOf(now, -2), untilMs: startOf(now, -1) };
    case "this week":
      return { fromMs: startOf(now, monday) };
    case "last week":
      return { fromMs: startOf(now, monday - 7), untilMs: startOf(now, monday) };
    case "this month":
      return { fromMs: startOfMonth(now, 0) };
    case "last month":
      return { fromMs: startOfMonth(now, -1), untilMs: startOfMonth(now, 0) };
  }
}

/** "Three days ago" means that day. "Two weeks ago" means the seven days around it, because people use it loosely. */
function agoRange(now: Date, many: number, unit: Unit): TimeRange {
  if (unit === "day") return { fromMs: startOf(now, -many), untilMs: startOf(now, 1 - many) };
  if (unit === "week") return { fromMs: startOf(now, -7 * many - 3), untilMs: startOf(now, -7 * many + 4) };
  return { fromMs: startOfMonth(now, -many), untilMs: startOfMonth(now, 1 - many) };
}

const startOf = (day: Date, days: number): number => new Date(day.getFullYear(), day.getMonth(), day.getDate() + days).getTime();
const startOfMonth = (day: Date, months: number): number => new Date(day.getFullYear(), day.getMonth() + months, 1).getTime();

/** Words that only ask what was done, and so add nothing to search for. */
const doing = `do did done doing work worked working happen happened change changed changes progress activity finish finished accomplish accomplished
achieve achieved entries journal thing things anything everything all summary summarize
ich habe hast was woran machen gemacht getan tun arbeiten gearbeitet passiert geschehen geändert erledigt
qu'avons-nous qu'avons qu'est-ce qu'est qu'ai-je j'ai ai as avons avez fait faire travail travaillé passé changé
hice hicimos hiciste hecho hacer trabajé trabajamos trabajo pasó ocurrió cambió
что мы делал делала делали делаем сделал сделали сделано работал работали произошло случилось изменилось
فعلت فعلنا عملت عملنا حدث أنجزنا أنجزت تغير`;
const doingUnspaced = /^[做了些么什吗呢的我们都工作发生事情干完成しましたかやっ作業仕事何なにをはがのどんなこと变化]+$/u;
let doingTerms: ReadonlySet<string> | undefined;

function asksForMore(rest: string): boolean {
  doingTerms ??= new Set([...tokens(doing)].map(({ term }) => term));
  for (const { term, role } of tokens(rest)) {
    if (role !== "word" && role !== "characters") continue;
    if (doingTerms.has(term) || doingUnspaced.test(term)) continue;
    return true;
  }
  return false;
}
