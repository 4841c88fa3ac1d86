import { ENGINE_VERSION } from '../../engine/index.ts'
import { detach } from '../../platform/bytes/detach.ts'
import { HEAD_AT, HEAD_BYTES_MAX, type ModelParts, RECORD_V4, SHA256_BYTES } from './record-v4.ts'

interface HeadOrder {
  readonly teamId: string
  readonly deploymentId: string
  readonly cacheVersion: number
}

interface ModelOrder {
  readonly modelId: string
  /** Null for the champion. */
  readonly challengerId: string | null
  /** Null for a challenger that could not be loaded. */
  readonly parts: ModelParts | null
  /** The reason baseline in force; absent or null for none. */
  readonly baselineId?: string | null
}

const TEXT8_BYTES_MAX = 255
const NO_SHA256 = new Uint8Array(SHA256_BYTES)
const NO_BASELINE = ''

/** The start of all records of one state of a deployment, prepared once. */
export class PreparedHead {
  /** The payload up to the facts. */
  readonly bytes: Uint8Array

  /**
   * @param models champion first
   * @throws Error if the head is larger than a record can hold
   */
  constructor({ teamId, deploymentId, cacheVersion }: HeadOrder, models: readonly ModelOrder[]) {
    const head = Buffer.concat([
      u16(ENGINE_VERSION),
      text8(teamId),
      text8(deploymentId),
      u32(cacheVersion),
      Buffer.from([models.length]),
      ...models.map(modelBytes),
    ])
    if (head.length > HEAD_BYTES_MAX || models.length > TEXT8_BYTES_MAX) {
      throw new Error('the deployment has too many models for the score log')
    }
    const start = Buffer.alloc(HEAD_AT)
    start.writeUInt8(RECORD_V4)
    start.writeUInt16LE(head.length, 1)
    this.bytes = detach(Buffer.concat([start, head]))
  }
}

function modelBytes({ modelId, challengerId, parts, baselineId }: ModelOrder): Buffer {
  return Buffer.concat([
    text8(modelId),
    text8(challengerId ?? ''),
    parts?.specSha256 ?? NO_SHA256,
    text8(baselineId ?? NO_BASELINE),
    u16(parts?.features ?? 0),
    Buffer.from([parts?.bytesPerCell ?? 1]),
  ])
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function text8(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length > TEXT8_BYTES_MAX) throw new Error('an id is too long for the score log')
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}
