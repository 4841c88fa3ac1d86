/** Applicants with the scores of two models and what became of them. */
export interface LabelledSample {
  readonly champion: readonly number[]
  readonly challenger: readonly number[]
  readonly isBad: readonly boolean[]
}

/**
 * Random applicants that `test/peers/performance.py` makes alike: by a linear congruential
 * generator of 32 bits.
 */
export function labelledSample(n: number, hasTies: boolean): LabelledSample {
  let state = n
  const next = () => {
    state = (state * 1664525 + 1013904223) % 4294967296
    return state / 4294967296
  }
  const computeScore = (u: number) => (hasTies ? Math.floor(u * 20) * 10 + 400 : 400 + 200 * u)
  const champion: number[] = []
  const challenger: number[] = []
  const isBad: boolean[] = []
  for (let row = 0; row < n; row++) {
    const [a, b, c] = [next(), next(), next()]
    const score = computeScore(a)
    champion.push(score)
    challenger.push(computeScore(a * 0.6 + b * 0.4))
    isBad.push(c < 1 / (1 + Math.exp((score - 460) / 30)))
  }
  return { champion, challenger, isBad }
}

/** The probability of a score by a card that is a little too mild. */
export function mildPd(score: number): number {
  return 1 / (1 + Math.exp((score - 455) / 30))
}
