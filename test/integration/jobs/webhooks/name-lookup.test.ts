import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NameLookup, UnknownNameError } from '../../../../src/jobs/webhooks/name-lookup.ts'
import { NameServer } from '../../../support/servers/name-server.ts'

const IPV6 = [0x20, 0x01, 0x0d, 0xb8, ...Array.from({ length: 11 }, () => 0), 1]

let server: NameServer
let folder: string

beforeAll(async () => {
  server = await NameServer.start({
    'both.example': { ipv4: [192, 0, 2, 1], ipv6: IPV6 },
    'four.example': { ipv4: [192, 0, 2, 4] },
    'risk.internal.example': { ipv4: [10, 0, 0, 7] },
    'slow.example': 'silent',
  })
  folder = await mkdtemp(path.join(tmpdir(), 'names-'))
  await writeFile(
    path.join(folder, 'hosts'),
    '127.0.0.1 localhost # here\n10.1.2.3\tNamed.example alias\n::1 alias\n',
  )
  await writeFile(path.join(folder, 'resolv.conf'), 'search internal.example\noptions ndots:5\n')
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

const lookup = (timeoutMs = 2_000) =>
  new NameLookup({
    hostsFile: path.join(folder, 'hosts'),
    resolverFile: path.join(folder, 'resolv.conf'),
    servers: [server.address],
    timeoutMs,
  })
const four = (address: string) => ({ address, family: 4 })

test('a name has the addresses of both families', async () => {
  const found = await lookup().findAddresses('both.example')
  expect(found).toEqual([four('192.0.2.1'), { address: '2001:db8::1', family: 6 }])
  expect(await lookup().findAddresses('four.example.')).toEqual([four('192.0.2.4')])
})

test('the hosts file comes first', async () => {
  expect(await lookup().findAddresses('localhost')).toEqual([four('127.0.0.1')])
  expect(await lookup().findAddresses('named.EXAMPLE')).toEqual([four('10.1.2.3')])
  expect(await lookup().findAddresses('alias')).toEqual([
    four('10.1.2.3'),
    { address: '::1', family: 6 },
  ])
})

test('without any file the loopback has its name', async () => {
  const bare = new NameLookup({ hostsFile: '/none', resolverFile: '/none' })
  expect(await bare.findAddresses('localhost')).toContainEqual(four('127.0.0.1'))
})

// Names inside an orchestrator's network are short.
test('a name without a dot is found by the search list', async () => {
  expect(await lookup().findAddresses('risk')).toEqual([four('10.0.0.7')])
})

test('an unknown name is refused', async () => {
  await expect(lookup().findAddresses('none.example')).rejects.toThrow(UnknownNameError)
})

test('a name server that is silent ends nothing but its own look-up', async () => {
  const beganMs = performance.now()
  await expect(lookup(300).findAddresses('slow.example')).rejects.toThrow(UnknownNameError)
  // The system would ask for ten seconds.
  expect(performance.now() - beganMs).toBeLessThan(5_000)
})

// One team's slow names must not make the webhooks of all others wait.
test('look-ups that wait hold up no other one', async () => {
  const names = lookup(5_000)
  let ended = 0
  const waiting = Array.from({ length: 64 }, () =>
    names.findAddresses('slow.example').catch(() => ended++),
  )
  expect(await names.findAddresses('four.example')).toEqual([four('192.0.2.4')])
  expect(ended).toBe(0)
  await Promise.all(waiting)
})
