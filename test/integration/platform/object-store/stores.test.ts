import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DirectoryCalls } from '../../../../src/platform/object-store/directory-calls.ts'
import { DirectoryStore } from '../../../../src/platform/object-store/directory-store.ts'
import {
  bytesSource,
  fileSource,
  type ObjectStore,
} from '../../../../src/platform/object-store/object-store.ts'
import { openObjectStore } from '../../../../src/platform/object-store/open-object-store.ts'
import { readObject } from '../../../../src/platform/object-store/read-object.ts'
import { openS3Client } from '../../../../src/platform/object-store/s3-client.ts'
import { S3Store } from '../../../../src/platform/object-store/s3-store.ts'
import { S3Server } from '../../../support/servers/s3-server.ts'

const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
}
const text = (value: string) => bytesSource(Buffer.from(value))

let server: S3Server
let directory: string
const before = { ...process.env }

beforeEach(async () => {
  Object.assign(process.env, CREDENTIALS)
  server = await S3Server.start()
  directory = mkdtempSync(join(tmpdir(), 'objects-'))
})
afterEach(async () => {
  for (const name of Object.keys(CREDENTIALS)) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
  await server.close()
  rmSync(directory, { recursive: true })
})

const openDirectory = () => openObjectStore(pathToFileURL(directory).href, NOWHERE)
const openS3 = async () =>
  new S3Store({
    bucket: 'bucket',
    prefix: 'some/prefix',
    client: await openS3Client({ ...NOWHERE, endpoint: server.endpoint }),
    waitsMs: [1, 2, 3, 4],
  })
const NOWHERE = { endpoint: null, region: 'us-east-1', usesPathStyle: true }

const KINDS = [
  { kind: 'a directory', open: openDirectory },
  { kind: 'a bucket', open: openS3 },
]

describe.each(KINDS)('$kind', ({ open }) => {
  let store: ObjectStore
  beforeEach(async () => {
    store = await open()
  })
  afterEach(() => store.close())

  test('gives back what was stored, whole and in parts', async () => {
    expect(await store.put('a/b.txt', text('0123456789'))).toBe('stored')
    expect((await readObject(store, 'a/b.txt', 100)).toString()).toBe('0123456789')
    expect((await store.read('a/b.txt', { from: 2, bytes: 3 })).toString()).toBe('234')
    expect((await store.read('a/b.txt', { from: 8, bytes: 9 })).toString()).toBe('89')
    expect((await store.read('a/b.txt', { from: 10, bytes: 9 })).length).toBe(0)
    expect(await store.head('a/b.txt')).toMatchObject({ key: 'a/b.txt', bytes: 10 })
  })

  test('stores an empty object, and one of many portions', async () => {
    const large = Buffer.alloc(20 * 1024 * 1024, 'large')
    const path = join(directory, 'source')
    writeFileSync(path, large)
    await store.put('empty', text(''))
    await store.put('large', await fileSource(path))
    expect((await readObject(store, 'empty', 1)).length).toBe(0)
    expect((await readObject(store, 'large', large.length)).equals(large)).toBe(true)
  })

  // A repeated call must change nothing, and another content must never take a name.
  test('stores a name once', async () => {
    await store.put('a', text('first'))
    expect(await store.put('a', text('first'))).toBe('present')
    await expect(store.put('a', text('other'))).rejects.toMatchObject({ failure: 'conflict' })
    await expect(store.put('a', text('longer text'))).rejects.toMatchObject({ failure: 'conflict' })
    expect((await readObject(store, 'a', 100)).toString()).toBe('first')
    await store.replace('a', text('other'))
    expect((await readObject(store, 'a', 100)).toString()).toBe('other')
    expect(await store.probe()).toBe(true)
    expect(await store.list({ prefix: '', limit: 10 })).toMatchObject([{ key: 'a' }])
  })

  test('says of what is not there that it is missing', async () => {
    expect(await store.head('a')).toBe(null)
    await expect(store.read('a', { from: 0, bytes: 1 })).rejects.toMatchObject({
      failure: 'missing',
    })
    await store.delete('a')
  })

  test('notices that another object took the place of one that is read', async () => {
    await store.put('a', text('first'))
    const version = (await store.head('a'))?.version ?? ''
    expect((await store.read('a', { from: 0, bytes: 5 }, version)).toString()).toBe('first')
    await store.replace('a', text('other text'))
    await expect(store.read('a', { from: 0, bytes: 5 }, version)).rejects.toMatchObject({
      failure: 'changed',
    })
  })

  test('lists keys in the order of their bytes, a page at a time', async () => {
    const keys = ['a-b', 'a/a', 'a/b/c', 'a0', 'b', 'a/b', 'ä'].filter((key) => key !== 'a/b')
    for (const key of keys) await store.put(key, text(key))
    const sorted = ['a-b', 'a/a', 'a/b/c', 'a0', 'b', 'ä']
    const listKeys = async (query: Parameters<ObjectStore['list']>[0]) =>
      (await store.list(query)).map(({ key }) => key)
    expect(await listKeys({ prefix: '', limit: 100 })).toEqual(sorted)
    expect(await listKeys({ prefix: '', limit: 2 })).toEqual(sorted.slice(0, 2))
    expect(await listKeys({ prefix: '', after: 'a/a', limit: 2 })).toEqual(sorted.slice(2, 4))
    expect(await listKeys({ prefix: 'a/', limit: 100 })).toEqual(['a/a', 'a/b/c'])
    await store.delete('a/a')
    expect(await listKeys({ prefix: 'a/', limit: 100 })).toEqual(['a/b/c'])
  })

  test.each(['', '/a', 'a/', 'a//b', '../a', 'a/../b', './a', 'a\\b', 'a\nb', 'x'.repeat(1_025)])(
    'refuses the name %j',
    async (key) => {
      await expect(store.put(key, text('a'))).rejects.toMatchObject({ failure: 'refused' })
      await expect(store.head(key)).rejects.toMatchObject({ failure: 'refused' })
    },
  )
})

describe('a directory', () => {
  // It could be the place where a volume is not mounted.
  test('is not made, and its absence is not that of an object', async () => {
    const store = await openObjectStore(pathToFileURL(join(directory, 'absent')).href, NOWHERE)
    await expect(store.put('a', text('a'))).rejects.toMatchObject({ failure: 'away' })
    await expect(store.head('a')).rejects.toMatchObject({ failure: 'away' })
    await expect(store.list({ prefix: '', limit: 1 })).rejects.toMatchObject({ failure: 'away' })
  })

  test('gives nothing that lies outside of it', async () => {
    const inside = join(directory, 'inside')
    mkdirSync(inside)
    writeFileSync(join(directory, 'secret'), 'secret')
    symlinkSync(join(directory, 'secret'), join(inside, 'link'))
    const store = await openObjectStore(pathToFileURL(inside).href, NOWHERE)
    await expect(store.read('link', { from: 0, bytes: 9 })).rejects.toMatchObject({
      failure: 'refused',
    })
  })

  // Nobody would write to the directory of a closed day again.
  test('loses what a killed process has left, after a day', async () => {
    const store = await openDirectory()
    await store.put('dt/a', text('a'))
    const [old, young] = ['.1.unfinished', '.2.unfinished']
    for (const name of [old, young]) writeFileSync(join(directory, 'dt', name), 'a')
    const aDayAgo = Date.now() / 1_000 - 86_401
    utimesSync(join(directory, 'dt', old), aDayAgo, aDayAgo)
    await store.sweep()
    expect(readdirSync(join(directory, 'dt')).sort()).toEqual([young, 'a'])
  })

  // A directory on a network that hangs must not take the threads of the whole process.
  test('is away for writes while one hangs, and a write that goes on later changes nothing', async () => {
    const store = new DirectoryStore(directory, new DirectoryCalls({ read: 1_000, write: 100 }))
    await new DirectoryStore(directory).put('a', text('a'))
    const hung = Promise.withResolvers<void>()
    const source = {
      ...text('b'),
      open: async function* () {
        await hung.promise
        yield Buffer.from('b')
      },
    }
    await expect(store.put('b', source)).rejects.toMatchObject({ failure: 'away' })
    await expect(store.put('c', text('c'))).rejects.toMatchObject({ failure: 'away' })
    expect((await readObject(store, 'a', 1)).toString()).toBe('a')
    hung.resolve()
    // On a busy machine a write that was given up after 100 ms may have stored it.
    await expect.poll(() => store.put('c', text('c')).catch(() => 'away')).not.toBe('away')
    expect(await store.head('b')).toBe(null)
  })

  test('leaves no file behind when a source fails', async () => {
    const store = await openDirectory()
    const failing = {
      ...text('abc'),
      open: async function* () {
        yield Buffer.from('a')
        throw new Error('the source fails')
      },
    }
    await expect(store.put('dt/a', failing)).rejects.toThrow()
    expect(readdirSync(join(directory, 'dt'))).toEqual([])
  })
})

describe('a bucket', () => {
  let store: ObjectStore
  beforeEach(async () => {
    store = await openS3()
  })
  afterEach(() => store.close())

  test.each([
    { status: 409, code: 'ConditionalRequestConflict' },
    { status: 500, code: 'InternalError' },
    { status: 503, code: 'SlowDown' },
  ])('is asked again after $status $code', async ({ status, code }) => {
    server.fail({ method: 'PUT', status, code, times: 2 })
    server.fail({ method: 'GET', status: 500, times: 2 })
    expect(await store.put('a', text('first'))).toBe('stored')
    expect((await store.read('a', { from: 0, bytes: 5 })).toString()).toBe('first')
    expect(server.requests.filter((request) => request.startsWith('PUT'))).toHaveLength(3)
  })

  // The object may have been stored by then.
  test('has stored an object once whose answer was lost', async () => {
    server.fail({ method: 'PUT', status: 0, times: 1 })
    expect(await store.put('a', text('first'))).toBe('present')
    expect(server.objects.size).toBe(1)
  })

  test('is away after a bounded number of attempts', async () => {
    server.fail({ method: 'HEAD', status: 500, times: 100 })
    await expect(store.head('a')).rejects.toMatchObject({ failure: 'away' })
    expect(server.requests).toHaveLength(5)
  })

  test('is not asked again for what it refuses', async () => {
    server.fail({ method: 'PUT', status: 403, code: 'AccessDenied', times: 1 })
    const refusal = store.put('a', text('first'))
    await expect(refusal).rejects.toMatchObject({
      failure: 'refused',
      message: 'the object store fails: 403 (AccessDenied)',
    })
    expect(server.requests.filter((request) => request.startsWith('PUT'))).toHaveLength(1)
  })

  test('that gives all of an object for a range gives the range here', async () => {
    await store.put('a', text('0123456789'))
    server.options = { ignoresRanges: true }
    expect((await store.read('a', { from: 2, bytes: 3 })).toString()).toBe('234')
  })

  // Correctness rests on names and a lock, but the operator should know.
  // A command that erases puts files, and has not probed its store.
  test('that ignores conditions keeps its objects before that is known', async () => {
    server.options = { ignoresConditions: true }
    server.objects.set('some/prefix/a', Buffer.from('first'))
    await expect(store.put('a', text('other'))).rejects.toMatchObject({ failure: 'conflict' })
    expect(server.objects.get('some/prefix/a')?.toString()).toBe('first')
  })

  test('has nothing of a probe that failed', async () => {
    server.delayMs = 100
    const probing = store.probe()
    probing.catch(() => undefined)
    await expect.poll(() => server.objects.size, { interval: 10 }).toBe(1)
    server.fail({ method: 'PUT', status: 403, code: 'AccessDenied', times: 1 })
    await expect(probing).rejects.toMatchObject({ failure: 'refused' })
    expect(server.objects.size).toBe(0)
  })

  test.each([
    {
      what: 'ignores conditions',
      set: () => {
        server.options = { ignoresConditions: true }
      },
    },
    {
      what: 'answers them with 501',
      set: () => server.fail({ method: 'PUT', status: 501, code: 'NotImplemented', times: 1 }),
    },
  ])('that $what is found out, and keeps its objects', async ({ set }) => {
    set()
    expect(await store.probe()).toBe(false)
    await store.put('a', text('first'))
    await expect(store.put('a', text('other'))).rejects.toMatchObject({ failure: 'conflict' })
    expect(await store.put('a', text('first'))).toBe('present')
    expect([...server.objects.keys()]).toEqual(['some/prefix/a'])
  })
})

test('a text that names no store is refused', async () => {
  for (const url of ['s3://', 's3://a', 'file://host/a', 'http://a/b', 's3://bucket/../a', 'a']) {
    await expect(openObjectStore(url, NOWHERE)).rejects.toMatchObject({ failure: 'refused' })
  }
})
