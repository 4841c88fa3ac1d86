/**
 * A second reading of PMML scorecards: what the standard says of the elements that the export
 * writes, in the plainest way. Knows nothing of the engine and nothing of how the document is made.
 */

interface Node {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Node[]
}

const TAG = /<(\/?)([A-Za-z]+)((?:\s+[\w:]+="[^"<]*")*)\s*(\/?)>/g
const ATTRIBUTE = /([\w:]+)="([^"]*)"/g

/** Reads a document of elements with attributes; texts between elements are left out. */
export function readXml(text: string): Node {
  const root: Node = { name: '', attributes: {}, children: [] }
  const open = [root]
  for (const [, end, name = '', attributes = '', isEmpty] of text.matchAll(TAG)) {
    if (end === '/') {
      if (open.pop()?.name !== name) throw new Error(`${name} ends where it has not begun`)
      continue
    }
    const pairs = [...attributes.matchAll(ATTRIBUTE)].map(([, key = '', value = '']) => [
      key,
      value.replace(/[\t\r\n]/g, ' ').replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code)),
    ])
    const node: Node = { name, attributes: Object.fromEntries(pairs), children: [] }
    open.at(-1)?.children.push(node)
    if (isEmpty !== '/') open.push(node)
  }
  if (open.length !== 1) throw new Error('the document does not end')
  return root
}

export function find(node: Node, ...names: readonly string[]): Node {
  const [name, ...rest] = names
  if (name === undefined) return node
  const child = node.children.find((one) => one.name === name)
  if (child === undefined) throw new Error(`${node.name} has no ${name}`)
  return find(child, ...rest)
}

type Values = ReadonlyMap<string, string | number>

/** @returns null where a characteristic has no attribute that holds, so that there is no score */
export function evaluatePmml(document: string, values: Values): number | null {
  const card = find(readXml(document), 'PMML', 'Scorecard')
  let score = Number(card.attributes['initialScore'])
  for (const characteristic of find(card, 'Characteristics').children) {
    const attribute = characteristic.children.find(({ children: [predicate] }) =>
      predicate === undefined ? false : holds(predicate, values) === true,
    )
    if (attribute === undefined) return null
    score += Number(attribute.attributes['partialScore'])
  }
  return score
}

/** True, false, or unknown: null. */
function holds({ name, attributes, children }: Node, values: Values): boolean | null {
  if (name === 'True') return true
  if (name === 'CompoundPredicate') {
    const results = children.map((child) => holds(child, values))
    const decisive = attributes['booleanOperator'] === 'or'
    if (results.includes(decisive)) return decisive
    return results.includes(null) ? null : !decisive
  }
  if (name !== 'SimplePredicate')
    throw new Error(`${name} is not a predicate that the export writes`)
  const value = values.get(attributes['field'] ?? '')
  const { operator = '', value: text = '' } = attributes
  if (operator === 'isMissing') return value === undefined
  if (operator === 'isNotMissing') return value !== undefined
  if (value === undefined) return null
  const other = typeof value === 'number' ? Number(text) : text
  const compare = COMPARISONS[operator]
  if (compare === undefined)
    throw new Error(`${operator} is not an operator that the export writes`)
  return compare(value, other)
}

type Value = string | number
const COMPARISONS: Readonly<Record<string, (one: Value, other: Value) => boolean>> = {
  equal: (one, other) => one === other,
  lessThan: (one, other) => one < other,
  lessOrEqual: (one, other) => one <= other,
  greaterThan: (one, other) => one > other,
  greaterOrEqual: (one, other) => one >= other,
}
