import { describe, expect, test } from 'vitest'
import { findSlot } from '../../../src/platform/redis-cluster/key-slots.ts'
import { readClusterUrl, redisUrlFault } from '../../../src/platform/redis-cluster/redis-url.ts'
import { readClusterSlots, redirectIn } from '../../../src/platform/redis-cluster/replies.ts'

const SECRET = 'hush-hush'
const ASKED = { host: '10.0.0.9', port: 7009 }

describe('a REDIS_URL', () => {
  test.each([
    'redis://host:6379/1',
    'rediss://user:a,b@host',
    'redis+cluster://a',
    'rediss+cluster://user:password@a:6379,b:6380,[::1]:6381/',
  ])('%s is right', (url) => {
    expect(redisUrlFault(url)).toBeNull()
  })

  test.each([
    ['http://host', 'must be a URL that starts with redis://, rediss://, redis+cluster://'],
    [`redis://u:${SECRET}@a,b`, 'must start with redis+cluster:// or rediss+cluster://'],
    [
      `redis+cluster://u:${SECRET}@a,b/1`,
      'must not name a database: a cluster has only database 0',
    ],
    [`redis://u:${SECRET}@a/cache`, 'must name a database by its number'],
    ['redis+cluster://a?db=1', 'must not name a database'],
    [`redis+cluster://u:${SECRET}@a,,b`, 'HOST or HOST:PORT'],
    ['redis+cluster://', 'HOST or HOST:PORT'],
    ['redis+cluster://a:99999', 'HOST or HOST:PORT'],
  ])('%s is refused', (url, message) => {
    const fault = redisUrlFault(url)
    expect(fault).toContain(message)
    expect(fault).not.toContain(SECRET)
  })

  test('of a cluster gives each node the user, password and TLS that all share', () => {
    const { seeds, formatUrl } = readClusterUrl('rediss+cluster://user:p%40ss@a,b:6380')
    expect(seeds).toEqual([
      { host: 'a', port: 6379 },
      { host: 'b', port: 6380 },
    ])
    expect(formatUrl({ host: '::1', port: 7000 })).toBe('rediss://user:p%40ss@[::1]:7000')
  })
})

// The specification of the cluster gives the first value, `CLUSTER KEYSLOT` the others.
test.each([
  ['123456789', 0x31c3 % 16_384],
  ['foo', 12_182],
  ['bar', 5_061],
  ['', 0],
])('the slot of %j is %d', (text, slot) => {
  expect(findSlot(text)).toBe(slot)
})

describe('the slots of a cluster', () => {
  test('have their owners; an unnamed host is the one that was asked', () => {
    const slots = readClusterSlots(
      [
        [0, 99, ['10.0.0.1', 7001, 'id-a', []], ['10.0.0.2', 7002, 'id-b', []]],
        [100, 100, [null, 7009, 'id-c']],
        [101, 16_383, ['fd00::1', 7003, 'id-d', ['hostname', 'd.example']]],
      ],
      ASKED,
    )
    expect([...(slots?.nodes.keys() ?? [])]).toEqual([
      '10.0.0.1:7001',
      '10.0.0.9:7009',
      '[fd00::1]:7003',
    ])
    const owners = [0, 99, 100, 101, 16_383].map((slot) => slots?.owners[slot])
    expect(owners).toEqual([
      '10.0.0.1:7001',
      '10.0.0.1:7001',
      '10.0.0.9:7009',
      '[fd00::1]:7003',
      '[fd00::1]:7003',
    ])
  })

  test('that no node has stay without an owner', () => {
    const slots = readClusterSlots([[5, 6, ['10.0.0.1', 7001, 'id']]], ASKED)
    expect([slots?.owners[4], slots?.owners[5], slots?.owners[7]]).toEqual([
      null,
      '10.0.0.1:7001',
      null,
    ])
  })

  test.each([[[]], [null], ['ERR'], [[[0, 1, ['?', 7001, 'id']]]]])(
    'of %j are unknown',
    (reply) => {
      expect(readClusterSlots(reply, ASKED)).toBeNull()
    },
  )
})

test.each([
  ['MOVED 866 10.0.0.2:7002', { kind: 'moved', slot: 866, node: '10.0.0.2:7002' }],
  ['MOVED 866 :7002', { kind: 'moved', slot: 866, node: '10.0.0.9:7002' }],
  ['ASK 866 fd00::1:7002', { kind: 'ask', slot: 866, node: '[fd00::1]:7002' }],
  ['ASK 866 redis-1.example:7002', { kind: 'ask', slot: 866, node: 'redis-1.example:7002' }],
  [
    'TRYAGAIN Multiple keys request during rehashing of slot',
    { kind: 'again', slot: -1, node: '10.0.0.9:7009' },
  ],
  ['CLUSTERDOWN Hash slot not served', null],
  ['Connection is closed.', null],
])('%j names where to ask', (message, redirect) => {
  expect(redirectIn(new Error(message), ASKED)).toEqual(redirect)
})
