import { SPAN_MS, spanStart } from '../../rollups/spans.ts'
import { type BlockTree, treesOf } from '../proof/leaves.ts'
import type { ModelSource, ModelsById } from '../record/model-source.ts'
import { HEAD_AT, readHeadV4, SCORED_AT } from '../record/record-v4.ts'
import { BlockEncoder, type EncodedBlock } from './block-encoder.ts'

/** A block of records that are new to the database. */
export interface DrainedBlock extends EncodedBlock {
  /** The trees of its teams, by rising team id. */
  readonly trees: readonly BlockTree[]
}

/**
 * Turns records of version 4 into blocks, one for each hour of UTC.
 *
 * @throws Error that says what is wrong with one of the records; or of the database
 */
export async function encodeBlocks(
  payloads: readonly Buffer[],
  source: ModelSource,
): Promise<DrainedBlock[]> {
  if (payloads.length === 0) return []
  const models = await source.compiled(modelIdsOf(payloads))
  return encodeByHour(payloads, models)
}

/** @param payloads can be reused afterwards */
export function encodeByHour(payloads: readonly Buffer[], models: ModelsById): DrainedBlock[] {
  const hours = new Map<number, { readonly encoder: BlockEncoder; readonly payloads: Buffer[] }>()
  for (const payload of payloads) {
    const scoredAtMs = payload.readDoubleLE(HEAD_AT + payload.readUInt16LE(1) + SCORED_AT)
    const hour = spanStart('hour', scoredAtMs) / SPAN_MS.hour
    let ofHour = hours.get(hour)
    if (ofHour === undefined) {
      ofHour = { encoder: new BlockEncoder(models), payloads: [] }
      hours.set(hour, ofHour)
    }
    ofHour.encoder.add(payload)
    ofHour.payloads.push(payload)
  }
  return [...hours.values()].flatMap((ofHour) => {
    const block = ofHour.encoder.encode()
    return block === null ? [] : { ...block, trees: treesOf(ofHour.payloads) }
  })
}

/** Ids of the models of these records. */
export function modelIdsOf(payloads: readonly Buffer[]): string[] {
  const heads = new Set<string>()
  const ids = new Set<string>()
  for (const payload of payloads) {
    const head = payload.toString('latin1', HEAD_AT, HEAD_AT + payload.readUInt16LE(1))
    if (heads.has(head)) continue
    heads.add(head)
    for (const { modelId } of readHeadV4(Buffer.from(head, 'latin1')).models) ids.add(modelId)
  }
  return [...ids]
}
