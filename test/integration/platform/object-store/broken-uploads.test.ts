import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createReadStream, type ReadStream } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { ObjectSource } from '../../../../src/platform/object-store/object-store.ts'
import { openS3Client } from '../../../../src/platform/object-store/s3-client.ts'
import { S3Store } from '../../../../src/platform/object-store/s3-store.ts'

const PORTION = Buffer.alloc(64 * 1024)
const PORTIONS = 100
const WAITS_MS = [1, 1, 1]

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test')
  onTestFinished(() => void vi.unstubAllEnvs())
})

/** A store that ends the connection once it has got so many bytes. */
async function openCutting(bytesMax: number): Promise<S3Store> {
  const server = createServer((socket) => {
    let bytes = 0
    socket.on('error', () => undefined)
    // The client asks whether it may send the content.
    socket.once('data', () => socket.write('HTTP/1.1 100 Continue\r\n\r\n'))
    socket.on('data', ({ length }) => {
      bytes += length
      if (bytes > bytesMax) socket.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = await openS3Client({ endpoint, region: 'us-east-1', usesPathStyle: true })
  const store = new S3Store({ bucket: 'bucket', prefix: '', client, waitsMs: WAITS_MS })
  onTestFinished(() => store.close())
  return store
}

/** Content of many portions, which says how often it was opened and closed. */
function countedSource(fault: Error | null = null) {
  const counts = { opened: 0, closed: 0 }
  const source: ObjectSource = {
    bytes: PORTIONS * PORTION.length,
    sha256: randomBytes(32),
    open: async function* () {
      counts.opened++
      try {
        for (let n = 0; n < PORTIONS; n++) {
          if (n > 0 && fault !== null) throw fault
          yield PORTION
        }
      } finally {
        counts.closed++
      }
    },
  }
  return { source, counts }
}

// Each attempt opens a file: a bucket that is away for hours would use up all file handles.
test('an upload whose connection breaks closes its file', async () => {
  const store = await openCutting(10 * PORTION.length)
  const { source, counts } = countedSource()
  await expect(store.replace('key', source)).rejects.toMatchObject({ failure: 'away' })
  const attempts = WAITS_MS.length + 1
  await expect.poll(() => counts).toEqual({ opened: attempts, closed: attempts })
})

test('an upload that never begins closes its file', async () => {
  const store = await openCutting(0)
  const opened: ReadStream[] = []
  const source = {
    bytes: PORTIONS * PORTION.length,
    sha256: randomBytes(32),
    open: () => {
      const file = createReadStream(fileURLToPath(import.meta.url))
      opened.push(file)
      return file
    },
  }
  await expect(store.replace('key', source)).rejects.toMatchObject({ failure: 'away' })
  expect(opened).toHaveLength(WAITS_MS.length + 1)
  await expect.poll(() => opened.every(({ closed }) => closed)).toBe(true)
})

// An error of a stream that nobody hears ends the process.
test('an upload whose file can not be read fails alone', async () => {
  const store = await openCutting(Number.POSITIVE_INFINITY)
  const { source, counts } = countedSource(new Error('the disk fails'))
  const beganMs = performance.now()
  await expect(store.replace('key', source)).rejects.toMatchObject({ failure: 'away' })
  expect(performance.now() - beganMs).toBeLessThan(15_000)
  expect(counts.closed).toBe(counts.opened)
})

// With TLS an error may come when the answer is read, and nobody hears the socket any more.
test('a connection that fails after a read ends no process', async () => {
  const open = await openS3Client({ endpoint: null, region: 'us-east-1', usesPathStyle: true })
  const socket = new EventEmitter()
  const send = async () => ({
    Body: Object.assign(Readable.from([PORTION]), { socket }),
    $metadata: { httpStatusCode: 206 },
  })
  const client = { ...open, client: Object.assign(open.client, { send }) }
  const store = new S3Store({ bucket: 'bucket', prefix: '', client, waitsMs: [] })
  onTestFinished(() => store.close())
  expect(await store.read('key', { from: 0, bytes: PORTION.length })).toHaveLength(PORTION.length)
  expect(socket.emit('error', new Error('a damaged record'))).toBe(true)
})
