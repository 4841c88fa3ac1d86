// What the console reads from the part of a card that explains its scores. Cards of earlier
// versions may hold anything there, so nothing is taken for granted.
import type { Schemas } from '../api/types.ts'
import { when } from './dates.ts'
import { number, whole } from './figures.ts'

type Spec = Schemas['ScorecardSpec']

export type Texts = Readonly<Record<string, string>>

const TAG = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/

export function hasReasons(spec: Spec): boolean {
  const rules = spec['reasons']
  return isObject(rules) && rules['version'] === 1
}

/** Texts of a code or a label by language; a plain text has none. */
export function readTexts(value: unknown): Texts {
  if (!isObject(value)) return {}
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => TAG.test(entry[0]) && typeof entry[1] === 'string',
  )
  return Object.fromEntries(texts)
}

/** Languages that a card has texts in, English first. */
export function listLanguages(spec: Spec): string[] {
  if (!hasReasons(spec)) return ['en']
  const texts = [
    ...Object.values(isObject(spec['reason_codes']) ? spec['reason_codes'] : {}),
    ...spec.features.map(({ label }) => label),
    ...spec.features.flatMap(({ bins }) => bins.map(({ label }) => label)),
  ]
  const found = new Set(texts.flatMap((one) => Object.keys(readTexts(one))))
  found.delete('en')
  return ['en', ...[...found].sort()]
}

/** The name of a language in English, such as `German (de)`. */
export function languageName(tag: string): string {
  try {
    const name = new Intl.DisplayNames('en', { type: 'language' }).of(tag)
    return name === undefined || name === tag ? tag : `${name} (${tag})`
  } catch {
    return tag
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const DEVELOPMENT_MEANS = 'average points of the development sample'
const METHODS: Readonly<Record<string, string>> = {
  mean_at_cutoff: 'average points of applicants at the cut-off or slightly better',
  mean_all: 'average points of all scored applications',
  fixed: 'baselines of the card',
  max: 'best points of each feature',
}

interface Method {
  readonly method: string
  readonly baseline_basis?: string | null
  readonly cutoff?: number | null
  readonly population_n?: number | null
  readonly from?: string | null
  readonly to?: string | null
}

/** Returns what reasons are measured against, in words. */
export function methodWords(reasons: Method): string {
  const { method, baseline_basis: basis, cutoff, population_n: n, from, to } = reasons
  // Averages of scored applications have an end of their period.
  const isOfCard = method === 'mean_all' && to == null
  const parts = [
    isOfCard ? DEVELOPMENT_MEANS : (METHODS[method] ?? method),
    ...(basis == null ? [] : [`basis ${basis.replaceAll('_', ' ')}`]),
    ...(cutoff == null ? [] : [`cut-off ${number(cutoff)}`]),
    ...(n == null ? [] : [`${whole(n)} applications`]),
    ...(to == null
      ? []
      : [`scored ${from == null ? 'until' : `from ${when(from)} to`} ${when(to)}`]),
  ]
  return parts.join(', ')
}

export function methodName(method: string): string {
  return METHODS[method] ?? method
}

/** The label of a bin for people: the English one, else any; null where the card has none. */
export function binLabel(bin: object): string | null {
  const label = 'label' in bin ? bin.label : undefined
  if (typeof label === 'string') return label
  const texts = readTexts(label)
  return texts['en'] ?? Object.values(texts)[0] ?? null
}

/** The text of a reason code in a language, else in English or any; the code without a text. */
export function codeText(spec: Spec, code: string, lang: string): string {
  const codes = spec['reason_codes']
  const texts = isObject(codes) && Object.hasOwn(codes, code) ? readTexts(codes[code]) : {}
  return texts[lang] ?? texts['en'] ?? Object.values(texts)[0] ?? code
}
