import {
  type Applicant,
  type CompiledModel,
  checkSpec,
  compileModel,
  ModelScore,
  scoreApplicant,
} from '../../../src/engine/index.ts'
import { newId } from '../../../src/platform/ids.ts'

const u8 = (value: number) => Buffer.from([value])
const u16 = (value: number) => Buffer.from(new Uint8Array(Uint16Array.of(value).buffer))
const u32 = (value: number) => Buffer.from(new Uint8Array(Uint32Array.of(value).buffer))
const f64 = (value: number) => Buffer.from(new Uint8Array(Float64Array.of(value).buffer))
const text8 = (text: string) => Buffer.concat([u8(Buffer.byteLength(text)), Buffer.from(text)])

/** The hash of a specification that no test looks at. */
const NO_SPEC = 'ab'.repeat(32)

export interface PayloadModel {
  readonly modelId: string
  readonly challengerId: string | null
  readonly features: number
  readonly bytesPerCell: 1 | 2
  /** Hex, over the stored text of the specification. */
  readonly specSha256?: string
}

export interface PayloadResult {
  readonly score: number
  readonly pd: number
  /** 0xffffffff for none. */
  readonly grade: number
  readonly warnings: number
  readonly cells: readonly number[]
}

export interface PayloadRow {
  readonly id: string | number | null
  readonly results: readonly (PayloadResult | null)[]
}

export interface PayloadOrder {
  readonly teamId?: string
  readonly deploymentId?: string
  readonly cacheVersion?: number
  readonly models: readonly PayloadModel[]
  readonly rows: readonly PayloadRow[]
  readonly scoredAtMs?: number
  readonly latencyUs?: number
  readonly bucket?: number | null
  readonly served?: number
  readonly isBatch?: boolean
  readonly requestId?: string
  readonly keyId?: string
  readonly reference?: string | null
  /** 24 bytes: hashes of the key and of the body. */
  readonly key?: Uint8Array | null
}

/** A record of version 4, written from its description alone. */
export function recordPayload(order: PayloadOrder): Buffer {
  const { models, rows, scoredAtMs = Date.now() } = order
  const head = Buffer.concat([
    u16(1),
    text8(order.teamId ?? 'team_1'),
    text8(order.deploymentId ?? 'dep_1'),
    u32(order.cacheVersion ?? 1),
    u8(models.length),
    ...models.flatMap(({ modelId, challengerId, specSha256, features, bytesPerCell }) => [
      ...[text8(modelId), text8(challengerId ?? ''), Buffer.from(specSha256 ?? NO_SPEC, 'hex')],
      ...[text8(''), u16(features), u8(bytesPerCell)],
    ]),
  ])
  return Buffer.concat([
    ...[u8(4), u16(head.length), head, f64(scoredAtMs), u32(order.latencyUs ?? 150)],
    ...[
      u16((order.bucket ?? -1) & 0xffff),
      u8(order.served ?? 0),
      u8((order.isBatch ? 1 : 0) + (order.key ? 2 : 0)),
    ],
    ...[u32(rows.length), text8(order.requestId ?? newId('req_', scoredAtMs))],
    ...[text8(order.keyId ?? 'key_1'), text8(order.reference ?? ''), order.key ?? Buffer.alloc(0)],
    ...rows.flatMap(({ id, results }) => [
      idBytes(id),
      ...results.map((result, place) => resultBytes(result, models[place]?.bytesPerCell ?? 1)),
    ]),
  ])
}

function idBytes(id: string | number | null): Buffer {
  if (id === null) return u8(0)
  if (typeof id === 'number') return Buffer.concat([u8(1), f64(id)])
  const isWhole = id.isWellFormed()
  const bytes = Buffer.from(id, isWhole ? 'utf8' : 'utf16le')
  return Buffer.concat([u8(isWhole ? 2 : 3), u32(bytes.length), bytes])
}

function resultBytes(result: PayloadResult | null, bytesPerCell: 1 | 2): Buffer {
  if (result === null) return u8(0)
  const { score, pd, grade, warnings, cells } = result
  const cellBytes = cells.map((cell) => (bytesPerCell === 1 ? u8(cell) : u16(cell)))
  return Buffer.concat([u8(1), f64(score), f64(pd), u32(grade), u16(warnings), ...cellBytes])
}

/** A model as records name it, and as the engine compiles it. */
export interface TestModel extends PayloadModel {
  readonly model: CompiledModel
  /** The result that the engine gives an applicant; null if a value is not valid. */
  makeResult(applicant: Applicant): PayloadResult | null
}

export function testModel(spec: object, modelId = 'mod_1', challengerId?: string): TestModel {
  const check = checkSpec(spec)
  if (!check.ok) throw new Error(JSON.stringify(check.faults))
  const model = compileModel(check.spec)
  const modelScore = new ModelScore(model)
  const isNarrow = model.cellOfSlot.every((cell) => cell <= 0xff)
  return {
    modelId,
    challengerId: challengerId ?? null,
    features: model.features.length,
    bytesPerCell: isNarrow ? 1 : 2,
    model,
    makeResult: (applicant) => {
      scoreApplicant(applicant, modelScore, 'id')
      if (modelScore.invalidCount > 0) return null
      const grade = modelScore.grade === null ? -1 : model.grades.names.indexOf(modelScore.grade)
      return {
        score: modelScore.score,
        pd: modelScore.pd,
        grade: grade >>> 0,
        warnings: modelScore.unknownCount,
        cells: Array.from(modelScore.slots, (slot) => model.cellOfSlot[slot] ?? 0),
      }
    },
  }
}
