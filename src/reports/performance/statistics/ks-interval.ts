import type { Discrimination, ScoreCount } from './discrimination.ts'
import { inTurns } from './in-turns.ts'
import { NORMAL_975 } from './special-functions.ts'

/** An interval of 95 percent of KS, and how it was found. */
export interface KsInterval {
  readonly low: number
  readonly high: number
  readonly method: 'bootstrap' | 'asymptotic'
  /** Null where nothing was drawn. */
  readonly replicates: number | null
  readonly seed: number | null
}

const REPLICATES = 1_000
const SEED = 20_260_101
/** Above, the asymptotic interval is as good: drawing would take seconds. */
const DRAWN_MAX = 20_000
const TAIL = 0.025

/**
 * The interval of KS: by a bootstrap that draws good and bad applicants apart, with a fixed seed;
 * above 20,000 applicants from the variance of the distance at the score of KS. It gives way to
 * the event loop.
 *
 * @param counts distinct scores, rising
 * @returns null without KS, and where every draw gives the same
 * @source the variance: M. Raghavachari, Limiting distributions of Kolmogorov-Smirnov type
 *   statistics under the alternative, The Annals of Statistics 1 (1973)
 */
export async function computeKsInterval(
  counts: readonly ScoreCount[],
  { ks, ksScore }: Discrimination,
): Promise<KsInterval | null> {
  if (ks === null || ksScore === null) return null
  const bads = await listPlaces(counts, 'bad')
  const goods = await listPlaces(counts, 'good')
  const found =
    bads.length + goods.length > DRAWN_MAX
      ? await asymptotic(counts, ks, ksScore)
      : await drawn(counts.length, bads, goods)
  return found.low < found.high ? found : null
}

/** For each applicant of a class the place of their score. */
async function listPlaces(counts: readonly ScoreCount[], of: 'good' | 'bad'): Promise<Uint32Array> {
  let n = 0
  await inTurns(counts, (count) => {
    n += count[of]
  })
  const places = new Uint32Array(n)
  let at = 0
  await inTurns(counts, (count, place) => {
    places.fill(place, at, at + count[of])
    at += count[of]
  })
  return places
}

async function drawn(scores: number, bads: Uint32Array, goods: Uint32Array): Promise<KsInterval> {
  const next = randomUnits(SEED)
  const lead = new Float64Array(scores)
  const values = new Float64Array(REPLICATES)
  const draw = (places: Uint32Array, weight: number) => {
    for (let drawn = 0; drawn < places.length; drawn++) {
      const place = places[Math.floor(next() * places.length)] ?? 0
      lead[place] = (lead[place] ?? 0) + weight
    }
  }
  const replicates = Array.from({ length: REPLICATES }, (_, replicate) => replicate)
  await inTurns(
    replicates,
    (replicate) => {
      lead.fill(0)
      // Whole numbers, so that no rounding adds up: each class weighs the size of the other one.
      draw(bads, goods.length)
      draw(goods, -bads.length)
      let [sum, farthest] = [0, 0]
      for (const step of lead) {
        sum += step
        farthest = Math.max(farthest, Math.abs(sum))
      }
      values[replicate] = farthest / (bads.length * goods.length)
    },
    1,
  )
  values.sort()
  return {
    low: quantile(values, TAIL),
    high: quantile(values, 1 - TAIL),
    method: 'bootstrap',
    replicates: REPLICATES,
    seed: SEED,
  }
}

async function asymptotic(
  counts: readonly ScoreCount[],
  ks: number,
  ksScore: number,
): Promise<KsInterval> {
  let [goods, bads, goodBelow, badBelow] = [0, 0, 0, 0]
  await inTurns(counts, ({ score, good, bad }) => {
    goods += good
    bads += bad
    if (score > ksScore) return
    goodBelow += good
    badBelow += bad
  })
  const variance =
    ((badBelow / bads) * (1 - badBelow / bads)) / bads +
    ((goodBelow / goods) * (1 - goodBelow / goods)) / goods
  const half = NORMAL_975 * Math.sqrt(variance)
  return {
    low: Math.max(0, ks - half),
    high: Math.min(1, ks + half),
    method: 'asymptotic',
    replicates: null,
    seed: null,
  }
}

/** The quantile between the two nearest values, as NumPy's by default. */
function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1)
  const below = sorted[Math.floor(at)] ?? 0
  const above = sorted[Math.ceil(at)] ?? below
  return below + (above - below) * (at - Math.floor(at))
}

/**
 * Numbers from 0 to below 1 that every run draws alike.
 *
 * @source mulberry32, Tommy Ettinger, public domain
 */
function randomUnits(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
