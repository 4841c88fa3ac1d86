import { listChoices } from '../../ui/fields.tsx'

/** Words of a letter in one language; braces hold what is put in. */
interface Letter {
  readonly template: string
  readonly reasons: string
  readonly none: string
  readonly decisions: Readonly<Record<Decision, string>>
}

export type Decision = 'declined' | 'counteroffer' | 'assessed'

export const DECISIONS = listChoices({
  declined: 'Declined',
  counteroffer: 'Approved on other terms',
  assessed: 'Leave it out',
})

/** Languages whose sentences the console knows; a letter in another one is English around texts. */
const LETTERS: Readonly<Record<string, Letter>> = {
  en: {
    template: `{lender}

Dear applicant,

thank you for your application. {decision} On {day} we assessed it with the help of a credit score. Your score was {score}. Scores range from {least} to {most}.

{reasons}

You may ask us to explain this decision, to correct data that is wrong, and to have a person look at your application again. Write to {contact}.

Yours sincerely
{lender}`,
    reasons: 'These were the principal reasons for your score, the most important first:',
    none: 'No factor made your score notably worse than that of the comparison group.',
    decisions: {
      declined: 'Unfortunately we can’t approve it.',
      counteroffer: 'We can’t approve it as you asked, and offer you other terms.',
      assessed: '',
    },
  },
  de: {
    template: `{lender}

Sehr geehrte Damen und Herren,

vielen Dank für Ihren Antrag. {decision} Wir haben ihn am {day} mit Hilfe eines Kreditscores geprüft. Ihr Score: {score}. Scores liegen zwischen {least} und {most}.

{reasons}

Sie können verlangen, dass wir die Entscheidung erläutern, falsche Daten berichtigen und den Antrag von einem Menschen noch einmal prüfen lassen. Schreiben Sie an {contact}.

Mit freundlichen Grüßen
{lender}`,
    reasons: 'Dies waren die Hauptgründe für Ihren Score, der wichtigste zuerst:',
    none: 'Kein Faktor hat Ihren Score gegenüber der Vergleichsgruppe merklich verschlechtert.',
    decisions: {
      declined: 'Leider können wir ihm nicht entsprechen.',
      counteroffer:
        'Wir können ihm nicht wie beantragt entsprechen und bieten andere Bedingungen an.',
      assessed: '',
    },
  },
  es: {
    template: `{lender}

Estimado solicitante:

Gracias por su solicitud. {decision} El {day} la evaluamos con ayuda de una puntuación de crédito. Su puntuación: {score}. Las puntuaciones van de {least} a {most}.

{reasons}

Puede pedirnos que expliquemos la decisión, que corrijamos datos erróneos y que una persona revise de nuevo su solicitud. Escriba a {contact}.

Atentamente
{lender}`,
    reasons: 'Estas fueron las razones principales de su puntuación, la más importante primero:',
    none: 'Ningún factor empeoró de forma apreciable su puntuación frente al grupo de comparación.',
    decisions: {
      declined: 'Lamentablemente no podemos aprobarla.',
      counteroffer: 'No podemos aprobarla tal como la pidió y le ofrecemos otras condiciones.',
      assessed: '',
    },
  },
  fr: {
    template: `{lender}

Madame, Monsieur,

nous vous remercions de votre demande. {decision} Nous l’avons évaluée le {day} à l’aide d’un score de crédit. Votre score : {score}. Les scores vont de {least} à {most}.

{reasons}

Vous pouvez nous demander d’expliquer la décision, de corriger des données erronées et de faire réexaminer votre demande par une personne. Écrivez à {contact}.

Veuillez agréer nos salutations distinguées
{lender}`,
    reasons: 'Voici les raisons principales de votre score, la plus importante en premier :',
    none: 'Aucun facteur n’a nettement dégradé votre score par rapport au groupe de comparaison.',
    decisions: {
      declined: 'Malheureusement, nous ne pouvons pas l’accepter.',
      counteroffer: 'Nous ne pouvons pas l’accepter telle quelle et proposons d’autres conditions.',
      assessed: '',
    },
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

export interface Lender {
  readonly lender: string
  readonly contact: string
  readonly decision: Decision
  readonly template: string
}

/** The language of the sentences of a letter: English where the console knows no others. */
export function letterLanguage(tag: string): string {
  const language = tag.split('-')[0]?.toLowerCase() ?? ''
  return Object.hasOwn(LETTERS, language) ? language : 'en'
}

export function standardTemplate(tag: string): string {
  return LETTERS[letterLanguage(tag)]?.template ?? ''
}

/** The whole letter; a name in braces that the template invents stays as it is. */
export function letterText(facts: LetterFacts, lender: Lender): string {
  const locale = letterLanguage(facts.lang)
  const words = LETTERS[locale]
  if (words === undefined) return ''
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 })
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' })
  const list = facts.reasons.map((one, at) => `${at + 1}. ${one}`).join('\n')
  const values: Readonly<Record<string, string>> = {
    lender: lender.lender,
    contact: lender.contact,
    decision: words.decisions[lender.decision],
    day: day.format(new Date(facts.scoredAt)),
    score: number.format(facts.score),
    least: number.format(facts.range.min),
    most: number.format(facts.range.max),
    reasons: list === '' ? words.none : `${words.reasons}\n\n${list}`,
  }
  return lender.template
    .replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
    .replaceAll(/ {2,}/g, ' ')
    .trim()
}
