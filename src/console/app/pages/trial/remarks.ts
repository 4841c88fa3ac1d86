import { countEdits, EDITS_MAX } from '../../../../platform/misspelt.ts'
import type { Schemas } from '../../api/types.ts'
import { listCategories, rangeEnds } from '../../ui/card.ts'
import { number, readNumber } from '../../ui/figures.ts'

type Feature = Schemas['Feature']

/** Typed values, by feature; an empty text is a missing value. */
export type Texts = Readonly<Record<string, string>>

/** Number of times the width of all ranges a number may lie outside of them without a remark. */
const FAR = 5

export function remarkOn(feature: Feature, text: string): string | null {
  return feature.type === 'numeric'
    ? remarkOnNumber(feature, text)
    : remarkOnCategory(feature, text)
}

function remarkOnNumber(feature: Feature, text: string): string | null {
  const value = readNumber(text)
  if (value !== null && /^\s*-?[1-9]\d{0,2}\.\d{3}\s*$/.test(text)) {
    return `Read as ${number(value)}; ${text.replace('.', '').trim()} is without the point.`
  }
  const ends = rangeEnds(feature)
  const [low, high] = [ends[0], ends.at(-1)]
  if (value === null || low === undefined || high === undefined) return null
  const width = high - low || Math.abs(high) || 1
  const isBelow = value < low - FAR * width || (value < 0 && low >= 0)
  if (!isBelow && value <= high + FAR * width) return null
  return `Far from what the card divides, ${number(low)} to ${number(high)}: is it right?`
}

function remarkOnCategory(feature: Feature, text: string): string | null {
  const categories = listCategories(feature)
  if (categories.includes(text)) return null
  const meant = meantCategory(categories, text)
  return meant === null ? 'It is in no bin.' : `It is in no bin. Did you mean “${meant}”?`
}

/** The category that a text differs from by case, blanks or a slip; null if there is none. */
function meantCategory(categories: readonly string[], text: string): string | null {
  const plain = (value: string) => value.trim().toLowerCase()
  const distances = categories.map((value) => ({ value, d: countEdits(plain(value), plain(text)) }))
  const [nearest] = distances.toSorted((a, b) => a.d - b.d)
  return nearest !== undefined && nearest.d <= EDITS_MAX ? nearest.value : null
}

/** An example that falls into one bin after another. */
export function findExample(feature: Feature, at: number): string {
  if (feature.type === 'categorical') {
    const categories = listCategories(feature)
    return categories[at % Math.max(1, categories.length)] ?? ''
  }
  const ends = rangeEnds(feature)
  const [low, high] = ends.slice(at % Math.max(1, ends.length))
  if (low === undefined) return ''
  if (high === undefined) return String(low + 1)
  const middle = (low + high) / 2
  return String(Math.round(middle) < high && Math.round(middle) > low ? Math.round(middle) : middle)
}
