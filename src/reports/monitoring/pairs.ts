import type { PartReader, ScannedColumns, ScannedModel } from '../../log/index.ts'
import { lazily } from './model-tally.ts'
import type { Direction } from './pd-group.ts'

/** Takes applicants of a pair of models, by their index in a part of a scan. */
type PairAdder = (rows: Int32Array) => void

/** Both models of a part of a scan. */
interface Pair {
  readonly champion: ScannedModel
  readonly challenger: ScannedModel
  /** Direction of the champion's scores. */
  readonly direction: Direction
}

/** Names those who take the applicants of a pair, see `ApplicantReader`. */
export function takersOfPair(challengerId: string): string {
  return `pair ${challengerId}`
}

/**
 * Reads the applicants that a challenger and the champion of the same request scored.
 *
 * @param findDirection direction of a model by its id
 * @param makeAdder what to do with the applicants
 */
export function pairReader(
  challengerId: string,
  findDirection: (modelId: string) => Promise<Direction>,
  makeAdder: (pair: Pair) => PairAdder,
): (columns: ScannedColumns) => Promise<PartReader | null> {
  return async ({ models }) => {
    const [champion] = models
    const challenger = models.find((model) => model.challengerId === challengerId)
    if (champion === undefined || challenger === undefined) return null
    const direction = await findDirection(champion.modelId)
    const [ofChampion, ofChallenger] = [champion.scored, challenger.scored]
    return {
      takes: (row) => ofChampion[row] === 1 && ofChallenger[row] === 1,
      add: lazily(() => makeAdder({ champion, challenger, direction })),
    }
  }
}
