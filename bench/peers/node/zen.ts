// @gorules/zen-engine, set up in either of two ways that its documentation has for points:
//
// - `table`: one decision table with a row for each bin, hit policy `collect`, and an expression
//   that adds up.
// - `expression`: one expression node, a chain of conditions for each feature, the fastest way.
//
// A decision is prepared once (`ZenDecisionContent`), and 64 applicants are under way at a
// time, since it works on threads of its own: one after the other took up to twice as long.
import { ZenDecisionContent, ZenEngine } from '@gorules/zen-engine'
import { type PeerResult, servePeer } from '../../lib/peer-program.ts'
import { type PeerFeature, type PeerSpec, readBin } from './bins.ts'

const TOGETHER = 64
const POSITION = { position: { x: 0, y: 0 } }

/** As the engine reads it; what else it holds depends on the type. */
interface Node {
  readonly id: string
  readonly type: string
  readonly name: string
  readonly content?: object
}

const unbounded = (bound: number) => !Number.isFinite(bound)

function readGraph(nodes: readonly Node[]): object {
  const all: readonly Node[] = [
    { ...POSITION, id: 'in', type: 'inputNode', name: 'in' },
    ...nodes,
    { ...POSITION, id: 'out', type: 'outputNode', name: 'out' },
  ]
  const edges = all.slice(1).map(({ id }, at) => ({
    id: `edge ${at}`,
    type: 'edge',
    sourceId: all[at]?.id,
    targetId: id,
  }))
  return { nodes: all, edges }
}

/** Text of a cell of a decision table. */
function findCell(bin: ReturnType<typeof readBin>): string {
  if ('texts' in bin) return bin.texts.map((text) => JSON.stringify(text)).join(', ')
  const { low, high, lowClosed, highClosed } = bin
  if (unbounded(low)) return `${highClosed ? '<=' : '<'} ${high}`
  if (unbounded(high)) return `${lowClosed ? '>=' : '>'} ${low}`
  return `${lowClosed ? '[' : '('}${low}..${high}${highClosed ? ']' : ')'}`
}

function tableGraph({ base_points, features }: PeerSpec): object {
  const empty = Object.fromEntries(features.map((_, column) => [`in${column}`, '']))
  const rules = features.flatMap(({ bins }, column) =>
    bins.map((bin, row) => ({
      ...empty,
      _id: `${column} ${row}`,
      [`in${column}`]: findCell(readBin(bin)),
      points: String(bin.points),
    })),
  )
  const column = (id: string, field: string) => ({ id, name: field, type: 'expression', field })
  const content = {
    hitPolicy: 'collect',
    inputs: features.map(({ name }, at) => column(`in${at}`, name)),
    outputs: [column('points', 'points')],
    rules,
    passThrough: false,
    executionMode: 'single',
    outputPath: 'bins',
    inputField: null,
  }
  const table = { ...POSITION, id: 'table', type: 'decisionTableNode', name: 'points' }
  const sum = `${base_points} + sum(map(bins, #.points))`
  return readGraph([
    { ...table, content },
    expressionNode([
      { id: 'score', key: 'score', value: sum },
      { id: 'points', key: 'points', value: 'map(bins, #.points)' },
    ]),
  ])
}

function expressionNode(expressions: readonly object[]): Node {
  const content = { expressions, passThrough: false }
  return { ...POSITION, id: 'sum', type: 'expressionNode', name: 'score', content }
}

function pointsExpression({ name, bins }: PeerFeature): string {
  return bins.reduceRight((otherwise, bin) => {
    const read = readBin(bin)
    const tests: string[] = []
    if ('texts' in read) {
      tests.push(`${name} in [${read.texts.map((text) => JSON.stringify(text)).join(', ')}]`)
    } else {
      if (!unbounded(read.low)) tests.push(`${name} ${read.lowClosed ? '>=' : '>'} ${read.low}`)
      if (!unbounded(read.high)) tests.push(`${name} ${read.highClosed ? '<=' : '<'} ${read.high}`)
    }
    return `${tests.join(' and ')} ? ${bin.points} : (${otherwise})`
  }, '0')
}

function expressionGraph({ base_points, features }: PeerSpec): object {
  const points = features.map((feature) => pointsExpression(feature)).join(', ')
  return readGraph([
    expressionNode([
      { id: 'points', key: 'points', value: `[${points}]` },
      { id: 'score', key: 'score', value: `${base_points} + sum($.points)` },
    ]),
  ])
}

const GRAPHS = { table: tableGraph, expression: expressionGraph }

await servePeer((card) => {
  // The scenario hands over the sample card; the check of the scores would find anything else.
  const spec = card as PeerSpec
  const way = process.argv[4] === 'table' ? 'table' : 'expression'
  const decision = new ZenEngine().createDecision(new ZenDecisionContent(GRAPHS[way](spec)))
  const score = async (applicant: object) => (await decision.evaluate(applicant)).result
  return {
    result: (applicant) => score(applicant) as Promise<PeerResult>,
    run: async (applicants, from, count) => {
      for (let first = 0; first < count; first += TOGETHER) {
        const some = Array.from({ length: Math.min(TOGETHER, count - first) }, (_, n) =>
          score(applicants[(from + first + n) % applicants.length] ?? {}),
        )
        await Promise.all(some)
      }
    },
  }
})
