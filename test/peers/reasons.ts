/**
 * Compares reasons with those of JPMML, which ranks reason codes in its own way:
 *
 *   node test/peers/reasons.ts write FOLDER [CARDS]   cards as PMML, and applicants
 *   java -cp "LIB/*:CLASSES" Reasons FOLDER           what JPMML says of them
 *   node test/peers/reasons.ts compare FOLDER         equal, or why not; 1 if that can't be said
 *
 * Case 0 is the sample card of the DMG. The others are random; every third shares no code, every
 * third adds up as JPMML does (`net`), every third as the service does by itself (`positive`).
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writePmml } from '../../src/cards/export/pmml/pmml.ts'
import {
  checkSpec,
  compileModel,
  compileReasons,
  ModelScore,
  ReasonFinder,
  scoreApplicant,
} from '../../src/engine/index.ts'
import { dmgCard } from '../support/cards/reason-cards.ts'

const APPLICANTS_PER_CARD = 50
const REASONS_MAX = 10
/** Sums of doubles differ by less where they are equal. */
const NOTHING = 1e-9

let state = 20_261_122

/** From 0 to below `count`; the same in each run. */
function random(count: number): number {
  // The generator of Park and Miller.
  state = (state * 48_271) % 2_147_483_647
  return state % count
}

const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))

function randomCard(index: number) {
  const kind = index % 3
  const features = 3 + random(6)
  const bins = 4
  return {
    name: `card ${index}`,
    version: '1',
    target: 'default_12m',
    base_points: 100,
    reasons: {
      version: 1,
      method: 'fixed',
      baseline_basis: 'mean',
      max: REASONS_MAX,
      ...(kind === 1 && { aggregate: 'net' }),
    },
    features: times(features, (feature) => ({
      name: `f${feature}`,
      type: 'numeric',
      reason_code: kind === 0 ? `R${feature}` : `R${random(4)}`,
      reason_baseline: random(80) / 2,
      bins: [
        ...times(bins, (bin) => ({
          range: `(${bin === 0 ? '-Infinity' : bin}, ${bin === bins - 1 ? 'Infinity)' : `${bin + 1}]`}`,
          points: random(80) / 2,
        })),
        { range: 'Missing', points: random(80) / 2 },
      ],
    })),
    scaling: { base_score: 100, base_odds: 20, pdo: index % 2 === 0 ? 20 : -20 },
  }
}

type Applicant = Record<string, string | number | null>

const DMG: readonly Applicant[] = [
  { department: 'engineering', age: 25, income: 500 },
  { department: 'marketing', age: 17, income: 1200 },
  { department: null, age: 40, income: null },
]

function write(folder: string, cards: number): void {
  for (const index of times(cards + 1, (at) => at)) {
    const card = index === 0 ? dmgCard() : randomCard(index)
    const checked = checkSpec(card)
    if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
    const pmml = writePmml(compileModel(checked.spec), checked.spec)
    if (!pmml.ok) throw new Error(JSON.stringify(pmml.faults))
    const value = () => (random(6) === 0 ? null : random(10) / 2)
    const applicants =
      index === 0
        ? DMG
        : times(APPLICANTS_PER_CARD, () =>
            Object.fromEntries(card.features.map(({ name }) => [name, value()])),
          )
    const target = join(folder, String(index).padStart(5, '0'))
    mkdirSync(target, { recursive: true })
    const names = card.features.map(({ name }) => name)
    const lines = applicants.map((one) => names.map((name) => one[name] ?? '').join('\t'))
    writeFileSync(join(target, 'card.pmml'), pmml.text)
    writeFileSync(join(target, 'card.json'), JSON.stringify(card))
    writeFileSync(join(target, 'rows.tsv'), [names.join('\t'), ...lines].join('\n'))
  }
}

interface Compared {
  readonly service: readonly string[]
  /** Signed distances of the features with a code, added up. */
  readonly net: ReadonlyMap<string, number>
}

/** What the service says of each applicant of a case. */
function readAnswers(folder: string): Compared[] {
  const checked = checkSpec(JSON.parse(readFileSync(join(folder, 'card.json'), 'utf8')))
  if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
  const model = compileModel(checked.spec)
  const rules = compileReasons(checked.spec, model)
  if (rules?.ownMeans == null) throw new Error(`${folder} has no reasons`)
  const finder = new ReasonFinder(model, rules, rules.ownMeans)
  const [head = '', ...lines] = readFileSync(join(folder, 'rows.tsv'), 'utf8').split('\n')
  const names = head.split('\t')
  const score = new ModelScore(model)
  return lines.map((line) => {
    const values = line.split('\t').map((text) => {
      if (text === '') return null
      return Number.isNaN(Number(text)) ? text : Number(text)
    })
    scoreApplicant(Object.fromEntries(names.map((name, at) => [name, values[at]])), score)
    const net = new Map<string, number>()
    for (const slot of score.slots) {
      const code = rules.codes[rules.codeOfSlot[slot] ?? -1] ?? ''
      net.set(code, (net.get(code) ?? 0) + finder.readDistance(slot))
    }
    const { reasons } = finder.find(score.slots, rules.max)
    return { service: reasons.map(({ code }) => rules.codes[code] ?? ''), net }
  })
}

/** Why two lists differ, as far as the rules of JPMML say so; null if they do not. */
function computeDifference(jpmml: readonly string[], { service, net }: Compared): string | null {
  const sums = jpmml.map((code) => net.get(code) ?? Number.NaN)
  const isRanked = sums.every((sum, at) => sum <= (sums[at - 1] ?? Infinity) + NOTHING)
  const isKept = sums.every((sum) => sum >= -NOTHING)
  const due = [...net].filter(([, sum]) => sum > NOTHING).map(([code]) => code)
  const isWhole = due.slice(0, REASONS_MAX).every((code) => jpmml.includes(code))
  if (!isRanked || !isKept || !isWhole) return null
  if (sums.some((sum) => Math.abs(sum) <= NOTHING)) return 'JPMML names a code with a distance of 0'
  const hasOwnSum = service.length !== due.length || due.some((code) => !service.includes(code))
  if (hasOwnSum) return 'a code of several features: JPMML takes off what others gain'
  const isSameOrder = service.every(
    (code, at) => Math.abs((net.get(code) ?? 0) - (sums[at] ?? 0)) <= NOTHING,
  )
  return isSameOrder
    ? 'a tie: JPMML does not take the order of the card'
    : 'a code of several features: JPMML takes off what others gain'
}

const say = (line: string) => process.stdout.write(`${line}\n`)

function compare(folder: string): void {
  const differences = new Map<string, number>()
  let [rows, equal, unexplained] = [0, 0, 0]
  for (const one of readdirSync(folder).toSorted()) {
    const found = readFileSync(join(folder, one, 'jpmml.tsv'), 'utf8').split('\n')
    for (const [at, answer] of readAnswers(join(folder, one)).entries()) {
      const jpmml = (found[at] ?? '').split('\t').filter((code) => code !== '')
      rows++
      if (jpmml.join() === answer.service.join()) {
        equal++
        continue
      }
      const why = computeDifference(jpmml, answer)
      if (why !== null) differences.set(why, (differences.get(why) ?? 0) + 1)
      else {
        unexplained++
        say(`${one}, row ${at}: ${jpmml.join()} for ${answer.service.join()}`)
      }
    }
  }
  say(`${equal} of ${rows} applicants have the same reasons`)
  for (const [why, count] of differences) say(`${count}: ${why}`)
  say(`${unexplained} differences without an explanation`)
  if (unexplained > 0) process.exitCode = 1
}

const [command, folder, cards = '300'] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder of the cases')
if (command === 'write') write(folder, Number(cards))
else compare(folder)
