import { readDecimal } from '../build/ranges.ts'
import { type Element, findChildren } from './xml.ts'

/** A value of a field: a number, a text, or missing. */
export type Value = number | string | null

/** True if a predicate holds for a value; null is PMML's UNKNOWN. */
export type Predicate = (value: Value) => boolean | null

/** Facts that the predicates of an attribute use. */
interface Uses {
  readonly constants: Set<string>
  /** Number of predicates, inner ones included. */
  predicates: number
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

export function listPredicates(parent: Element): Element[] {
  return parent.children.filter(({ name }) => PREDICATES.has(name))
}

/**
 * Compiles a predicate to a function with the three truth values of PMML.
 *
 * @param isNumeric whether the field holds numbers
 * @param uses receives the constants and the number of predicates
 * @throws PredicateFault
 * @source PMML 4.4, Trees: predicates and their truth tables
 */
export function compilePredicate(element: Element, isNumeric: boolean, uses: Uses): Predicate {
  const { name } = element
  uses.predicates++
  if (name === 'True') return () => true
  if (name === 'False') return () => false
  if (name === 'CompoundPredicate') return compound(element, isNumeric, uses)
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
  const constant = readConstant(text, isNumeric)
  return (value) => (value === null ? null : compare(value, constant))
}

function simpleSet(element: Element, isNumeric: boolean, uses: Uses): Predicate {
  const { booleanOperator } = element.attributes
  if (booleanOperator !== 'isIn' && booleanOperator !== 'isNotIn') {
    throw new PredicateFault(`has the boolean operator "${booleanOperator ?? ''}"`)
  }
  const [array, second] = findChildren(element, 'Array')
  if (array === undefined) throw new PredicateFault('has no Array')
  if (second !== undefined) throw new PredicateFault('has several Arrays')
  const texts = readArray(array.text)
  for (const text of texts) uses.constants.add(text)
  const set = new Set(texts.map((text) => readConstant(text, isNumeric)))
  const isIn = booleanOperator === 'isIn'
  return (value) => (value === null ? null : set.has(value) === isIn)
}

function readConstant(text: string, isNumeric: boolean): number | string {
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
  const children = listPredicates(element)
  const isOr = booleanOperator === 'or'
  const equals = isOr ? children.filter(isEqual) : []
  const others = isOr ? children.filter((child) => !isEqual(child)) : children
  const parts = others.map((child) => compilePredicate(child, isNumeric, uses))
  if (equals.length > 0) parts.push(equalsAny(equals, isNumeric, uses))
  if (parts.length === 0) throw new PredicateFault('has an empty CompoundPredicate')
  if (booleanOperator === 'and') return (value) => every(parts, value)
  if (booleanOperator === 'or') return (value) => some(parts, value)
  if (booleanOperator === 'surrogate') return (value) => firstKnown(parts, value)
  throw new PredicateFault(`combines predicates by "${booleanOperator ?? ''}"`)
}

function isEqual({ name, attributes }: Element): boolean {
  return name === 'SimplePredicate' && attributes['operator'] === 'equal'
}

/** Makes a set of the values of an `or`: a card may list thousands, each tried with each value. */
function equalsAny(elements: readonly Element[], isNumeric: boolean, uses: Uses): Predicate {
  const values = new Set<number | string>()
  for (const { attributes } of elements) {
    const text = attributes['value']
    if (text === undefined) throw new PredicateFault('has no value')
    uses.constants.add(text)
    values.add(readConstant(text, isNumeric))
  }
  return (value) => (value === null ? null : values.has(value))
}

/** True if any part is true, otherwise unknown if any part is unknown, otherwise false. */
function some(parts: readonly Predicate[], value: Value): boolean | null {
  let any: boolean | null = false
  for (const part of parts) {
    const truth = part(value)
    if (truth === true) return true
    if (truth === null) any = null
  }
  return any
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
