import {
  appendFileSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { FRAME_HEADER_BYTES, PAYLOAD_BYTES_MAX, sealFrame } from '../../../src/log/spool/frames.ts'
import { HEAD_BYTES } from '../../../src/log/spool/spool-papers.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { loggedModel, logRequest } from '../../support/score-log/score-records.ts'
import { drain, killedCopy, log, newSpoolDir, openSpool } from '../../support/score-log/spools.ts'

const MODELS = [loggedModel(card([plainFeature('income')]), 'champion')]
const MIB = 1024 * 1024
const LARGE_BYTES = 300 * MIB

async function openOn(path: string) {
  const spool = await openSpool(path)
  onTestFinished(() => spool.close())
  return spool
}

function newDirectory(): string {
  const { path, remove } = newSpoolDir()
  onTestFinished(remove)
  return path
}

/** The one segment of a spool, behind which a record of a version before stands. */
function readSegment(path: string): string {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return join(path, names.find((name) => name.endsWith('.seg')) ?? '')
}

/** Appends a frame of so many bytes, written in parts as no test should hold it either. */
function appendLarge(file: string, bytes: number): void {
  const part = Buffer.alloc(MIB, 'x')
  let checksum = 0
  for (let at = 0; at < bytes; at += part.length) checksum = crc32(part, checksum)
  const header = Buffer.alloc(FRAME_HEADER_BYTES)
  sealFrame(header, 0, header.length)
  header.writeUInt32LE(bytes, 4)
  header.writeUInt32LE(checksum, 8)
  appendFileSync(file, header)
  for (let at = 0; at < bytes; at += part.length) appendFileSync(file, part)
}

function start(file: string, bytes: number): string {
  const descriptor = openSync(file, 'r')
  const text = Buffer.alloc(bytes)
  readSync(descriptor, text, 0, bytes, 0)
  closeSync(descriptor)
  return text.toString()
}

test('a record above 32 MiB is refused, leaves nothing, and the requests beside it are logged', async () => {
  const spool = await openOn(newDirectory())
  const rows = Array.from({ length: 34 }, (_, n) => ({ income: 1, id: `${n}`.padEnd(MIB, 'x') }))
  const ask = (count: number, requestId: string) =>
    logRequest(spool, MODELS, rows.slice(0, count), { requestId, isBatch: true })
  const answers = await Promise.allSettled([
    log(spool, 'req_before'),
    (async () => ask(34, 'req_large'))(),
    ask(31, 'req_below'),
    log(spool, 'req_after'),
  ])
  expect(answers.map(({ status }) => status)).toEqual([
    ...['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  ])
  expect(answers[1]).toMatchObject({ reason: { code: 'payload_too_large' } })
  const { records, rejected } = await drain(spool)
  expect(rejected).toEqual([])
  expect(records.map(({ requestId }) => requestId)).toEqual([
    'req_before',
    'req_below',
    'req_after',
  ])
})

// A version before wrote records of any size; the drain took gigabytes of memory for one and stood
// for minutes.
test('a record of 300 MiB in the spool is set aside as a file, in little memory', async () => {
  const path = newDirectory()
  const writer = await openOn(path)
  await log(writer, 'req_1')
  const copy = killedCopy(path)
  const segment = readSegment(copy)
  const small = readFileSync(segment).subarray(HEAD_BYTES)
  appendLarge(segment, LARGE_BYTES)
  appendFileSync(segment, small)
  const warnings: object[] = []
  const before = process.memoryUsage()
  const spool = await openSpool(copy, { warn: (facts) => void warnings.push(facts) })
  onTestFinished(() => spool.close())
  expect(spool.stats.records).toBe(3)
  const first = await spool.readBatch(100, 4 * MIB)
  const behind = await spool.readBehind(first.token, 100, 4 * MIB)
  expect(behind.map(({ requestId }) => requestId)).toEqual(['req_1'])
  const peaks: number[] = []
  const sampling = setInterval(() => peaks.push(process.memoryUsage().arrayBuffers), 5)
  const { records, rejected } = await drain(spool)
  clearInterval(sampling)
  expect(records.map(({ requestId }) => requestId)).toEqual(['req_1', 'req_1'])
  expect(rejected).toEqual(['the record is larger than 32 MiB'])
  expect(Math.max(...peaks) - before.arrayBuffers).toBeLessThan(150 * MIB)
  const [name = ''] = readdirSync(join(copy, 'rejected'))
  const file = join(copy, 'rejected', name)
  const line = `${JSON.stringify({ reason: rejected[0] })}\n`
  expect(statSync(file).size).toBe(line.length + LARGE_BYTES)
  expect(start(file, line.length + 3)).toBe(`${line}xxx`)
  expect(warnings.at(-1)).toMatchObject({ rejected: 1, first: name.replace('.rejected', '') })
  expect(readdirSync(join(copy, 'rejected'))).toHaveLength(1)
})

test('a length that was damaged to more than a record may be costs its own record alone', async () => {
  const path = newDirectory()
  const writer = await openOn(path)
  await log(writer, 'req_1')
  const copy = killedCopy(path)
  const segment = readSegment(copy)
  const small = readFileSync(segment).subarray(HEAD_BYTES)
  for (let bytes = 0; bytes < PAYLOAD_BYTES_MAX + 2 * MIB; bytes += 8 * MIB) {
    appendLarge(segment, 8 * MIB)
  }
  appendFileSync(segment, small)
  const descriptor = openSync(segment, 'r+')
  const length = Buffer.alloc(4)
  length.writeUInt32LE(PAYLOAD_BYTES_MAX + 1)
  writeSync(descriptor, length, 0, 4, HEAD_BYTES + 4)
  closeSync(descriptor)
  const spool = await openOn(copy)
  const { records, rejected } = await drain(spool)
  expect(records.map(({ requestId }) => requestId)).toEqual(['req_1'])
  expect(new Set(rejected)).toEqual(
    new Set(['the spool is damaged here', 'the record is of another version']),
  )
  expect(readdirSync(join(copy, 'rejected')).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

test('a record that was cut off behind many bytes is still cut off at the start', async () => {
  const path = newDirectory()
  const writer = await openOn(path)
  await log(writer, 'req_1')
  const copy = killedCopy(path)
  const segment = readSegment(copy)
  const small = readFileSync(segment).subarray(HEAD_BYTES)
  for (let n = 0; n < 5; n++) appendLarge(segment, 16 * MIB)
  appendFileSync(segment, small.subarray(0, small.length - 5))
  const warnings: string[] = []
  const spool = await openSpool(copy, { warn: (_facts, text) => void warnings.push(text) })
  onTestFinished(() => spool.close())
  expect(warnings.join()).toContain('cut off')
  expect(readdirSync(join(copy, 'rejected'))).toHaveLength(1)
})
