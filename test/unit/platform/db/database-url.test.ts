import { expect, test } from 'vitest'
import { databaseUrlFault, readDatabaseUrl } from '../../../../src/platform/db/database-url.ts'

const SECRET = 'hush-hush'

test.each([
  'postgres://host/db',
  'postgresql://user:a,b@host:5433/db?sslmode=verify-full',
  'postgres://user:50%25@host/db?sslmode=verify-ca',
  'postgres://host/db?target_session_attrs=read-write',
  'postgres://user@a,b:5433/db?target_session_attrs=primary',
  'postgres://user@[::1]:5432,[::2]/db?target_session_attrs=primary&sslmode=require',
])('%s is right', (url) => {
  expect(databaseUrlFault(url)).toBeNull()
})

test.each([
  ['mysql://host/db', 'must be a URL that starts with postgres:// or postgresql://'],
  ['a text', 'must be a URL that starts with postgres:// or postgresql://'],
  [
    `postgres://u:${SECRET}@a,b/db`,
    'must have target_session_attrs=primary where it names several',
  ],
  [
    `postgres://u:${SECRET}@a,b/db?target_session_attrs=read-write`,
    'must have target_session_attrs=primary in place of read-write: that also takes a hot standby',
  ],
  ['postgres://a/db?target_session_attrs=standby', 'primary or none, because the service writes'],
  ['postgres://a/db?target_session_attrs=any', 'primary or none, because the service writes'],
  [`postgres://u:${SECRET}@a/db?sslmode=verify`, 'must have one of these as sslmode: disable,'],
  [`postgres://u:${SECRET}%@a/db`, 'must have %25 in place of %'],
  [`postgres://u:${SECRET}@a,,b/db?target_session_attrs=primary`, 'HOST or HOST:PORT'],
  [`postgres://u:${SECRET}@a:0,b/db?target_session_attrs=primary`, 'HOST or HOST:PORT'],
  [`postgres://u:${SECRET}@a:65536,b/db?target_session_attrs=primary`, 'HOST or HOST:PORT'],
])('%s is refused', (url, message) => {
  const fault = databaseUrlFault(url)
  expect(fault).toContain(message)
  expect(fault).not.toContain(SECRET)
})

test('a list is read with the default port, and each other part is kept', () => {
  const url = 'postgres://u:p%2Cq@a,[::1]:5433/db?target_session_attrs=primary'
  expect(readDatabaseUrl(url)).toEqual({
    url: 'postgres://u:p%2Cq@a:5432/db?target_session_attrs=primary',
    servers: [
      { host: 'a', port: 5432 },
      { host: '::1', port: 5433 },
    ],
  })
})

// What the driver reads by itself stays as it is.
test('a URL with one host is handed on unchanged', () => {
  const url = 'postgres://u:a,b@host/db?sslmode=verify-full'
  expect(readDatabaseUrl(url)).toEqual({ url, servers: [] })
})
