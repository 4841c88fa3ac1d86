import type { Schemas } from '../api/types.ts'
import { inWords, plainName } from './names.ts'
import { isObject, readTexts } from './reason-words.ts'

type Spec = Schemas['ScorecardSpec']

const LANGUAGE = 'en'

/** Names of the features of a card: their labels, else the texts of reasons of their own. */
function featureLabels(spec: Spec): ReadonlyMap<string, string> {
  const texts = isObject(spec['reason_codes']) ? spec['reason_codes'] : {}
  const codes = spec.features.map((feature) => feature['reason_code'])
  return new Map(
    spec.features.map(({ name, label, reason_code: code }) => {
      const isOwn = typeof code === 'string' && codes.filter((one) => one === code).length === 1
      const text =
        readTexts(label)[LANGUAGE] ?? (isOwn ? readTexts(texts[code])[LANGUAGE] : undefined)
      return [name, text ?? plainName(name)]
    }),
  )
}

export function listCategories(feature: Schemas['Feature']): readonly string[] {
  const values = feature.bins.map(({ value }) => String(value ?? 'Missing'))
  return values.flatMap((value) => (value === 'Missing' ? [] : value.split(OR)))
}

/** Ends of the ranges of a numeric feature, in order. */
export function rangeEnds(feature: Schemas['Feature']): readonly number[] {
  const ends = feature.bins.flatMap(
    ({ range }) => String(range ?? '').match(/-?[\d.]+(e-?\d+)?/g) ?? [],
  )
  return [...new Set(ends.map(Number))].filter(Number.isFinite).toSorted((a, b) => a - b)
}

/** The name of a feature for people; of one that the card does not have, the technical name. */
export type FeatureName = (name: string) => string

export function featureNames(spec: Spec | undefined): FeatureName {
  const labels = spec === undefined ? new Map<string, string>() : featureLabels(spec)
  return (name) => labels.get(name) ?? plainName(name)
}

/** Notes on parts of a card: what is true of several features is said once, with their names. */
export function gatherNotes(notes: readonly Schemas['SpecWarning'][], spec?: Spec | null) {
  const nameFeature = featureNames(spec ?? undefined)
  const found = new Map<string, { part: string; names: string[]; message: string }>()
  for (const { path, message } of notes) {
    const [, place = '', rest = ''] = /^features\[(\d+)\]\.(.+)$/.exec(path) ?? []
    const feature = spec?.features[Number(place || -1)]
    const part = feature === undefined ? path : rest
    const note = found.get(`${part} ${message}`) ?? { part, names: [], message }
    if (feature !== undefined) note.names.push(nameFeature(feature.name))
    found.set(`${part} ${message}`, note)
  }
  return [...found.values()].map(({ part, names, message }) => {
    return { path: names.length === 0 ? part : `${part} of ${inWords(names)}`, message }
  })
}

/** Joins categories in the file format. */
const OR = '%,%'

/** Values of a bin in words: "none or co-applicant", "35 to below 37", "below 26". */
export function binText(bin: {
  readonly range?: string | undefined
  readonly value?: string | undefined
}): string {
  if (bin.value !== undefined) return bin.value.split(OR).join(' or ')
  return bin.range === undefined ? '–' : rangeText(bin.range)
}

/** The same for a bin that is one text: a range or a category. */
export function plainBin(bin: string): string {
  return /^[[(].*,.*[\])]$/.test(bin) ? binText({ range: bin }) : binText({ value: bin })
}

function rangeText(range: string): string {
  const match = /^([[(])\s*([^,]+?)\s*,\s*([^,]+?)\s*([\])])$/.exec(range)
  if (match === null) return range
  const [, start, low = '', high = '', end] = match
  const isOpenBelow = low.toLowerCase().includes('inf')
  const isOpenAbove = high.toLowerCase().includes('inf')
  const from = start === '[' ? low : `above ${low}`
  const to = end === ']' ? high : `below ${high}`
  if (isOpenBelow && isOpenAbove) return 'any number'
  if (isOpenBelow) return end === ']' ? `up to ${high}` : to
  if (isOpenAbove) return start === '[' ? `${low} and more` : from
  return `${from} to ${to}`
}

const OUTCOMES: Readonly<Record<Schemas['FeatureOutcome'], string>> = {
  matched: 'In a bin',
  missing: 'Missing',
  unseen_category: 'Another category',
  no_bin: 'In no bin',
  not_a_number: 'Not a number',
}

/** A cell of a report: the values of its bin, or why a value has none. */
export function cellText(cell: {
  readonly outcome: Schemas['FeatureOutcome']
  readonly bin: { readonly range?: string; readonly value?: string } | null
}): string {
  return cell.bin === null ? OUTCOMES[cell.outcome] : binText(cell.bin)
}
