import { parentPort, workerData } from 'node:worker_threads'
import { goBehindRequests } from '../../platform/threads.ts'
import { writePart } from './part-writer.ts'
import type { PartTask } from './written-part.ts'

goBehindRequests()

const task: PartTask = workerData
// Buffers arrive as plain arrays of bytes.
const toBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength)
const blocks = task.blocks.map((block) => ({
  ...block,
  data: toBuffer(block.data),
  sources: toBuffer(block.sources),
}))
parentPort?.postMessage(await writePart({ ...task, blocks }))
