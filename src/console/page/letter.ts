/** Sentences of a letter in one language. */
interface Letter {
  readonly score: (score: string, day: string, least: string, most: string) => string
  readonly reasons: string
  readonly none: string
}

/** Languages whose sentences the console knows; a letter in another one is English around texts. */
const LETTERS: Readonly<Record<string, Letter>> = {
  en: {
    score: (score, day, least, most) =>
      `Your score was ${score} on ${day}. Scores range from ${least} to ${most}.`,
    reasons: 'These were the principal reasons for your score, the most important first:',
    none: 'No factor made your score notably worse than that of the comparison group.',
  },
  de: {
    score: (score, day, least, most) =>
      `Ihr Score betrug am ${day} ${score}. Scores liegen zwischen ${least} und ${most}.`,
    reasons: 'Dies waren die Hauptgründe für Ihren Score, der wichtigste zuerst:',
    none: 'Kein Faktor hat Ihren Score gegenüber der Vergleichsgruppe merklich verschlechtert.',
  },
  es: {
    score: (score, day, least, most) =>
      `Su puntuación era ${score} el ${day}. Las puntuaciones van de ${least} a ${most}.`,
    reasons: 'Estas fueron las razones principales de su puntuación, la más importante primero:',
    none: 'Ningún factor empeoró de forma apreciable su puntuación frente al grupo de comparación.',
  },
  fr: {
    score: (score, day, least, most) =>
      `Votre score était de ${score} le ${day}. Les scores vont de ${least} à ${most}.`,
    reasons: 'Voici les raisons principales de votre score, la plus importante en premier :',
    none: "Aucun facteur n'a nettement dégradé votre score par rapport au groupe de comparaison.",
  },
}

export interface LetterFacts {
  readonly score: number
  /** ISO 8601. */
  readonly scoredAt: string
  readonly range: { readonly min: number; readonly max: number }
  /** Texts in the language of the letter, the most important first. */
  readonly reasons: readonly string[]
  /** A language tag. */
  readonly lang: string
}

/** Whether the sentences around the reasons are in this language. */
export function hasLetter(lang: string): boolean {
  return LETTERS[languageOf(lang)] !== undefined
}

/** The text of a letter about a score: the score, its range, and its principal reasons. */
export function letterText({ score, scoredAt, range, reasons, lang }: LetterFacts): string {
  const known = hasLetter(lang)
  const letter = LETTERS[known ? languageOf(lang) : 'en']
  if (letter === undefined) return ''
  // Not the whole tag: it may be one that the browser refuses.
  const locale = known ? languageOf(lang) : 'en'
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 })
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(
    new Date(scoredAt),
  )
  const text = (value: number) => number.format(value)
  const first = letter.score(text(score), day, text(range.min), text(range.max))
  if (reasons.length === 0) return `${first}\n\n${letter.none}`
  return `${first}\n\n${letter.reasons}\n\n${reasons.map((one, at) => `${at + 1}. ${one}`).join('\n')}`
}

function languageOf(tag: string): string {
  return tag.split('-')[0]?.toLowerCase() ?? ''
}
