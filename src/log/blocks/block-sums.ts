import { crc32 } from 'node:zlib'
import { type Counts, count } from '../rollups/buckets.ts'
import type { KeyedRollup } from '../rollups/rollup-sums.ts'
import { SPAN_MS } from '../rollups/spans.ts'
import { ByteReader, ByteWriter, checkedBytes } from './bytes.ts'

/**
 * Writes the rollups of minutes: a varint with their number, then for each deployment, minute,
 * averages as doubles, counts; then a CRC-32 of all that.
 */
export function writeSums(minutes: readonly KeyedRollup[]): Buffer {
  const out = new ByteWriter()
  out.varint(minutes.length)
  for (const { deploymentId, startsAtMs, rollup } of minutes) {
    out.block(Buffer.from(deploymentId))
    out.zigzag(startsAtMs / SPAN_MS.minute)
    out.varint(rollup.requestCount)
    out.varint(rollup.resultCount)
    out.f64(rollup.scoreAvg)
    out.f64(rollup.scoreMin)
    out.f64(rollup.scoreMax)
    out.f64(rollup.pdAvg)
    out.f64(rollup.latencyAvgMs)
    out.f64(rollup.lastRequestAtMs)
    writeCounts(out, rollup.scoreBuckets)
    writeCounts(out, rollup.latencyBuckets)
  }
  out.u32(crc32(out.written()))
  return Buffer.from(out.written())
}

/**
 * Reads what `writeSums` has written.
 *
 * @throws RangeError if the bytes are damaged
 */
export function readSums(bytes: Buffer): KeyedRollup[] {
  const from = new ByteReader(checkedBytes(bytes))
  const minutes: KeyedRollup[] = []
  for (let rest = from.varint(); rest > 0; rest--) {
    const deploymentId = from.block().toString()
    const startsAtMs = from.zigzag() * SPAN_MS.minute
    const rollup = {
      requestCount: from.varint(),
      resultCount: from.varint(),
      scoreAvg: from.f64(),
      scoreMin: from.f64(),
      scoreMax: from.f64(),
      pdAvg: from.f64(),
      latencyAvgMs: from.f64(),
      lastRequestAtMs: from.f64(),
      scoreBuckets: readCounts(from),
      latencyBuckets: readCounts(from),
    }
    minutes.push({ deploymentId, span: 'minute', startsAtMs, rollup })
  }
  return minutes
}

function writeCounts(out: ByteWriter, counts: Counts): void {
  const buckets = [...counts.keys()].sort((a, b) => a - b)
  out.varint(buckets.length)
  let before = 0
  for (const bucket of buckets) {
    out.zigzag(bucket - before)
    out.varint(counts.get(bucket) ?? 0)
    before = bucket
  }
}

function readCounts(from: ByteReader): Counts {
  const counts: Counts = new Map()
  let bucket = 0
  for (let rest = from.varint(); rest > 0; rest--) {
    bucket += from.zigzag()
    count(counts, bucket, from.varint())
  }
  return counts
}
