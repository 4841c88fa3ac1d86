import { readDecimal } from '../build/ranges.ts'
import { childrenOf, type Element } from './xml.ts'

/** A value of a field: a number, a text, or missing. */
export type Value = number | string | null

/** Whether a predicate holds for a value; null is PMML's UNKNOWN. */
export type Predicate = (value: Value) => boolean | null

/** The fields and constants that a predicate uses. */
interface Uses {
  readonly fields: Set<string>
  readonly constants: Set<string>
}

/** A predicate that can't be converted; the message says why. */
export class PredicateFault extends Error {}

const PREDICATES = new Set([
  'SimplePredicate',
  'SimpleSetPredicate',
  'CompoundPredicate',
  'True',
  'False',
])

/** The predicates among the children of an element. */
export function predicatesOf(parent: Element): Element[] {
  return parent.children.filter(({ name }) => PREDICATES.has(name))
}

/**
 * Compiles a predicate to a function with the three truth values of PMML.
 *
 * @param isNumeric whether the field holds numbers
 * @param uses receives the fields and constants met
 * @throws PredicateFault
 * @source PMML 4.4, Trees: predicates and their truth tables
 */
export function compilePredicate(element: Element, isNumeric: boolean, uses: Uses): Predicate {
  const { name } = element
  if (name === 'True') return () => true
  if (name === 'False') return () => false
  if (name === 'CompoundPredicate') return compound(element, isNumeric, uses)
  uses.fields.add(element.attributes['field'] ?? '')
  return name === 'SimplePredicate'
    ? simple(element, isNumeric, uses)
    : simpleSet(element, isNumeric, uses)
}

type Comparison = (value: number | string, constant: number | string) => boolean

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  equal: (value, constant) => value === constant,
  notEqual: (value, constant) => value !== constant,
  lessThan: (value, constant) => value < constant,
  lessOrEqual: (value, constant) => value <= constant,
  greaterThan: (value, constant) => value > constant,
  greaterOrEqual: (value, constant) => value >= constant,
}

function simple({ attributes }: Element, isNumeric: boolean, uses: Uses): Predicate {
  const { operator = '', value: text } = attributes
  if (operator === 'isMissing') return (value) => value === null
  if (operator === 'isNotMissing') return (value) => value !== null
  const compare = COMPARISONS[operator]
  if (compare === undefined) throw new PredicateFault(`has the operator "${operator}"`)
  if (text === undefined) throw new PredicateFault('has no value')
  if (!isNumeric && operator !== 'equal' && operator !== 'notEqual') {
    throw new PredicateFault(`compares texts by "${operator}"`)
  }
  uses.constants.add(text)
  const constant = constantOf(text, isNumeric)
  return (value) => (value === null ? null : compare(value, constant))
}

function simpleSet(element: Element, isNumeric: boolean, uses: Uses): Predicate {
  const { booleanOperator } = element.attributes
  if (booleanOperator !== 'isIn' && booleanOperator !== 'isNotIn') {
    throw new PredicateFault(`has the boolean operator "${booleanOperator ?? ''}"`)
  }
  const [array, second] = childrenOf(element, 'Array')
  if (array === undefined) throw new PredicateFault('has no Array')
  if (second !== undefined) throw new PredicateFault('has several Arrays')
  const texts = readArray(array.text)
  for (const text of texts) uses.constants.add(text)
  const set = new Set(texts.map((text) => constantOf(text, isNumeric)))
  const isIn = booleanOperator === 'isIn'
  return (value) => (value === null ? null : set.has(value) === isIn)
}

function constantOf(text: string, isNumeric: boolean): number | string {
  if (!isNumeric) return text
  const value = readDecimal(text)
  if (value === null) throw new PredicateFault(`compares a number with "${text}"`)
  return value
}

const ARRAY_ITEM = /\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))/y

/** Items separated by blanks. A quoted item may contain blanks, and quotes after a backslash. */
function readArray(text: string): string[] {
  const items: string[] = []
  const end = text.trimEnd().length
  for (let at = 0; at < end; ) {
    ARRAY_ITEM.lastIndex = at
    const match = ARRAY_ITEM.exec(text)
    if (match === null) throw new PredicateFault('has an Array with an open quote')
    items.push(match[1]?.replace(/\\(.)/g, '$1') ?? match[2] ?? '')
    at += match[0].length
  }
  return items
}

function compound(element: Element, isNumeric: boolean, uses: Uses): Predicate {
  const { booleanOperator } = element.attributes
  const parts = predicatesOf(element).map((child) => compilePredicate(child, isNumeric, uses))
  if (parts.length === 0) throw new PredicateFault('has an empty CompoundPredicate')
  if (booleanOperator === 'and') return (value) => every(parts, value)
  if (booleanOperator === 'or') {
    return (value) => {
      const none = every(
        parts.map((part) => (of: Value) => not(part(of))),
        value,
      )
      return not(none)
    }
  }
  if (booleanOperator === 'surrogate') return (value) => firstKnown(parts, value)
  throw new PredicateFault(`combines predicates by "${booleanOperator ?? ''}"`)
}

function not(truth: boolean | null): boolean | null {
  return truth === null ? null : !truth
}

/** False if any part is false, otherwise unknown if any part is unknown, otherwise true. */
function every(parts: readonly Predicate[], value: Value): boolean | null {
  let all: boolean | null = true
  for (const part of parts) {
    const truth = part(value)
    if (truth === false) return false
    if (truth === null) all = null
  }
  return all
}

function firstKnown(parts: readonly Predicate[], value: Value): boolean | null {
  for (const part of parts) {
    const truth = part(value)
    if (truth !== null) return truth
  }
  return null
}
