import { stemmer } from "stemmer";

/** Maps the forms of a word to one: Porter's rules for Latin letters, the most common endings for Cyrillic, the article and endings for Arabic. */
export function stemOf(term: string): string {
  if (/^[a-z]{3,}$/.test(term)) return stemmer(term);
  if (/^[\u0430-\u044f]{5,}$/.test(term)) return cyrillic(term);
  if (/^[\u0620-\u064a]{3,}$/.test(term)) return arabic(term);
  return term;
}

/** Longest first; at least four letters remain. Accents have been removed by then, so й is и and ё is е. */
const cyrillicEndings =
  /(?<=.{4})(?:иями|ается|яется|уется|иваются|аются|яются|ются|утся|ится|ется|ями|ами|иях|ого|его|ому|ему|ыми|ими|иеи|ать|ять|ить|еть|ают|яют|ении|ение|ения|ях|ах|еи|ои|ии|ыи|ая|яя|ое|ее|ие|ые|ую|юю|ов|ев|ия|ья|ом|ем|ам|ям|ет|ит|ут|ют|ат|ят|ых|их|ся|сь|ть|а|я|о|е|и|ы|у|ю|ь)$/u;

const cyrillic = (term: string): string => term.replace(cyrillicEndings, "");

function arabic(term: string): string {
  const even = term.replaceAll("ى", "ي").replaceAll("ة", "ه");
  const bare = even.replace(/^(?:وال|بال|كال|فال|ال|لل)(?=.{3})/u, "");
  return bare.replace(/(?<=.{3})(?:ات|ون|ين|ان|ها|ه|ي)$/u, "");
}
