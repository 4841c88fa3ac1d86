import { parentPort, workerData } from 'node:worker_threads'
import type { CompiledModel } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import { systemClock } from '../platform/clock.ts'
import { encodeByHour } from '../score-log/blocks/encode-blocks.ts'
import { ChallengerFailures } from '../scoring/challenger-failures.ts'
import { makeServing } from '../scoring/make-serving.ts'
import type { ServingDeployment } from '../scoring/serving.ts'
import { ChunkScorer } from './chunk-scorer.ts'
import { newReader } from './input/new-reader.ts'
import type { ReadBytes, RecordReader } from './input/record.ts'
import type { BatchTask, FromProcess, ScoredPortion, ToThread } from './process-messages.ts'

/** Longest read of the service: it is in memory there. */
const READ_BYTES = 256 * 1024

const task: BatchTask = workerData

let onBytes: (bytes: Uint8Array | null) => void = () => undefined
let placeOf: () => string | null = () => null

const ready = open()
// Its failure answers the first chunk.
ready.catch(() => undefined)

parentPort?.on('message', async (message: ToThread) => {
  if (message.kind === 'bytes') {
    onBytes(message.bytes)
    return
  }
  try {
    const chunk = await scoreNext(message.requestId, message.scoredAtMs)
    const moved = chunk === null ? [] : memoryOf(chunk)
    send({ kind: 'chunk', chunk }, moved)
  } catch (error) {
    const isKnown = error instanceof AppError
    send({
      kind: 'failed',
      code: isKnown ? error.code : 'internal_error',
      message: error instanceof Error ? error.message : 'unknown',
    })
  }
})

interface Open {
  readonly scorer: ChunkScorer
  readonly reader: RecordReader
  readonly models: ReadonlyMap<string, CompiledModel>
}

async function open(): Promise<Open> {
  const { batchId, by, state, specs, options, fileBytes, position } = task
  const deployment = await makeServing(state, {
    store: {
      specOf: async (modelId) => specs.get(modelId) ?? null,
      // A batch gives no reasons; the log names the baseline of the state.
      baseline: async () => null,
    },
    held: new Map(),
    onFault: () => undefined,
  })
  const failures = new ChallengerFailures(systemClock, () => undefined)
  const scorer = new ChunkScorer({ batchId, by, deployment, options, failures })
  const { features, recordsMax } = scorer
  const { format } = options
  const reader = newReader(format, { read, fileBytes, features, position, recordsMax })
  placeOf = () => reader.place
  return { scorer, reader, models: modelsOf(deployment) }
}

let isFirst = task.isAtStart

async function scoreNext(requestId: string, scoredAtMs: number): Promise<ScoredPortion | null> {
  const { scorer, reader, models } = await ready
  const portion = await reader.next()
  if (portion === null) return null
  const { position, records } = portion
  const scored = scorer.score(records, { requestId, scoredAtMs, isFirst })
  isFirst = false
  const blocks = scored.payload === null ? [] : encodeByHour([scored.payload], models)
  const { unknownColumns, total } = reader
  return { ...scored, blocks, position, unknownColumns, total }
}

let reading: Promise<unknown> = Promise.resolve()

/** One read after the other: an answer does not say which read it is of. */
const read: ReadBytes = (from, bytes) => {
  const next = reading.then(() => wholeOf(from, bytes))
  reading = next.catch(() => undefined)
  return next
}

async function wholeOf(from: number, bytes: number): Promise<Buffer> {
  if (bytes <= READ_BYTES) return portionOf(from, bytes)
  const whole = Buffer.allocUnsafeSlow(bytes)
  for (let at = 0; at < bytes; at += READ_BYTES) {
    const portion = await portionOf(from + at, Math.min(READ_BYTES, bytes - at))
    portion.copy(whole, at)
  }
  return whole
}

function portionOf(from: number, bytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  onBytes = (found) => {
    if (found === null) reject(new Error("the file can't be read"))
    else resolve(Buffer.from(found.buffer, found.byteOffset, found.byteLength))
  }
  send({ kind: 'read', from, bytes, place: placeOf() })
  return promise
}

function send(message: FromProcess, moved: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, moved)
}

/** What is handed over without a copy: the results own their memory. */
function memoryOf({ results, errors }: ScoredPortion): ArrayBuffer[] {
  return [results, errors].flatMap(({ buffer, byteLength }) =>
    byteLength > 0 && buffer instanceof ArrayBuffer ? [buffer] : [],
  )
}

function modelsOf({ champion, challengers }: ServingDeployment): Map<string, CompiledModel> {
  const all = [champion, ...challengers.flatMap(({ serving }) => serving ?? [])]
  return new Map(all.map(({ modelId, modelScore }) => [modelId, modelScore.model]))
}
