import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import {
  cursorBytes,
  headBytes,
  newIdentity,
  readCursor,
  readHead,
  readIdentity,
  START,
  writeIdentity,
} from '../../../../src/log/spool/spool-papers.ts'

const IDENTITY = newIdentity()
const AT = { segment: 3, offset: 4_096 }
const HEAD = { identity: IDENTITY, number: 7, previous: AT }
const CURSOR = { at: START, end: AT, identity: IDENTITY }
/** Bytes of a head that its checksum covers. */
const HEAD_SEALED = 40

function newFile(bytes: Buffer | string): string {
  const folder = mkdtempSync(join(tmpdir(), 'scoreline-papers-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'paper')
  writeFileSync(file, bytes)
  return file
}

/** The same with another version and its own right checksum, as a later release may write it. */
function ofVersion2(bytes: Buffer, versionAt: number, sealed: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[versionAt] = 2
  copy.writeUInt32LE(crc32(copy.subarray(0, sealed)), sealed)
  return copy
}

function cursorIn(bytes: Buffer) {
  const descriptor = openSync(newFile(bytes), 'r')
  try {
    return readCursor(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

// Bytes of a form that this version does not know would be read as places and names.
test('an identity, a cursor and a head of another version are not read', () => {
  const file = newFile('')
  writeIdentity(file, IDENTITY)
  expect(readIdentity(file)).toBe(IDENTITY)
  expect(readFileSync(file, 'latin1')).toMatch(/^1 /)
  const text = `2 ${IDENTITY}`
  expect(readIdentity(newFile(`${text} ${crc32(text).toString(16).padStart(8, '0')}`))).toBeNull()

  const cursor = cursorBytes(CURSOR)
  expect(cursorIn(cursor)).toEqual(CURSOR)
  expect(cursorIn(ofVersion2(cursor, 0, cursor.length - 4))).toBeNull()

  const head = headBytes(HEAD)
  expect(readHead(newFile(head))).toEqual(HEAD)
  expect(readHead(newFile(ofVersion2(head, 3, HEAD_SEALED)))).toBeNull()
})
