import { finishSteps, type Steps } from '../../platform/steps.ts'
import { runInTurns } from '../../platform/turn-taker.ts'
import { type BlockTree, BlockTrees } from '../proof/block-trees.ts'
import type { ModelSource, ModelsById } from '../record/model-source.ts'
import { RecordScanner } from '../record/record-scanner.ts'
import { SPAN_MS, spanStart } from '../rollups/spans.ts'
import type { LoggedKey } from '../score-keys/key-rows.ts'
import { BlockEncoder, type EncodedBlock } from './block-encoder.ts'
import { type KnownHead, KnownHeads } from './known-heads.ts'

/** A block of records that are new to the database. */
export interface DrainedBlock extends EncodedBlock {
  /** The trees of its teams, by rising team id. */
  readonly trees: readonly BlockTree[]
  /** The score keys of its requests, for a table of their own. */
  readonly keys: readonly LoggedKey[]
}

interface HourOfBlock {
  readonly encoder: BlockEncoder
  readonly trees: BlockTrees
  readonly keys: LoggedKey[]
}

/**
 * Turns records of version 4 into blocks, one for each hour of UTC.
 *
 * @param known heads of records before these
 * @throws Error that says what is wrong with one of the records; or of the database
 */
export async function encodeBlocks(
  payloads: readonly Buffer[],
  source: ModelSource,
  known = new KnownHeads(),
): Promise<DrainedBlock[]> {
  if (payloads.length === 0) return []
  const heads = payloads.map((payload) => known.of(payload))
  const models = await source.compiled(listModelIds(heads))
  return runInTurns(encodeWith(payloads, heads, models))
}

/** @param payloads can be reused afterwards */
export function encodeByHour(payloads: readonly Buffer[], models: ModelsById): DrainedBlock[] {
  const known = new KnownHeads()
  const heads = payloads.map((payload) => known.of(payload))
  return finishSteps(encodeWith(payloads, heads, models))
}

/** @param heads those of the records */
function* encodeWith(
  payloads: readonly Buffer[],
  heads: readonly KnownHead[],
  models: ModelsById,
): Steps<DrainedBlock[]> {
  const hours = new Map<number, HourOfBlock>()
  const record = new RecordScanner()
  for (const [index, payload] of payloads.entries()) {
    const head = heads[index]
    if (head === undefined) continue
    record.scan(payload)
    const hour = spanStart('hour', record.scoredAtMs) / SPAN_MS.hour
    let ofHour = hours.get(hour)
    if (ofHour === undefined) {
      ofHour = { encoder: new BlockEncoder(models), trees: new BlockTrees(), keys: [] }
      hours.set(hour, ofHour)
    }
    ofHour.encoder.addScanned(record, head)
    ofHour.trees.add(record, head.leafTexts)
    const key = record.readKey()
    if (key !== null) {
      ofHour.keys.push({ ...key, requestId: record.requestIdText(), scoredAtMs: record.scoredAtMs })
    }
    yield
  }
  const blocks: DrainedBlock[] = []
  for (const { encoder, trees, keys } of hours.values()) {
    const block = yield* encoder.encodeSteps()
    if (block !== null) blocks.push({ ...block, trees: trees.trees(), keys })
  }
  return blocks
}

function listModelIds(heads: readonly KnownHead[]): string[] {
  const ids = new Set<string>()
  for (const { head } of new Set(heads)) for (const { modelId } of head.models) ids.add(modelId)
  return [...ids]
}
