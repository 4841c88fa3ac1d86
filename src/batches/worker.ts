import { parentPort, workerData } from 'node:worker_threads'
import type { CompiledModel } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import { systemClock } from '../platform/clock.ts'
import { encodeByHour } from '../score-log/blocks/encode-blocks.ts'
import { ChallengerFailures } from '../scoring/challenger-failures.ts'
import { makeServing } from '../scoring/make-serving.ts'
import type { ServingDeployment } from '../scoring/serving.ts'
import { receiveBytes } from './byte-pipe.ts'
import { ChunkScorer } from './chunk-scorer.ts'
import { newReader } from './input/new-reader.ts'
import type { ReadBytes, RecordReader } from './input/record.ts'
import type { BatchTask, FromProcess, ScoredPortion, ToThread } from './process-messages.ts'

/** Longest read of the service: it is in memory there. */
const READ_BYTES = 256 * 1024

const task: BatchTask = workerData

let placeOf: () => string | null = () => null

const ready = open()
// Its failure answers the first chunk.
ready.catch(() => undefined)

parentPort?.on('message', async (message: ToThread) => {
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

/** It waits for each portion: an answer does not say which read it is of. */
const read: ReadBytes = async (from, bytes) => {
  const whole = Buffer.allocUnsafeSlow(bytes)
  let filled = 0
  while (filled < bytes) {
    const portion = whole.subarray(filled, filled + READ_BYTES)
    send({ kind: 'read', from: from + filled, bytes: portion.length, place: placeOf() })
    const found = receiveBytes(portion)
    if (found === null) throw new Error("the file can't be read")
    filled += found
    if (found < portion.length) break
  }
  return whole.subarray(0, filled)
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
