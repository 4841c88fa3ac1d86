import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/config.ts'

// A setting that has no effect is found when it is needed: in the outage that it was made for.
test.each([
  ['SPOOL_BYTES_MAX', 'SPOOL_MAX_BYTES'],
  ['RATE_LIMIT_PER_MINUT', 'RATE_LIMIT_PER_MINUTE'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['JWT_SECRETS_FILE', 'JWT_SECRET_FILE'],
])('%s is warned of, as %s is read', (name, meant) => {
  expect(loadConfig({ [name]: '1' }).misspelt).toEqual([
    `${name} has no effect; did you mean ${meant}?`,
  ])
})

test.each([
  'HOSTNAME',
  'PATH',
  'NODE_ENV',
  'REDIS_PORT',
  'POSTGRES_PASSWORD',
  'OTEL_TRACES_EXPORTER',
  'AWS_ACCESS_KEY_ID',
  'SPOOL_MAX_BYTES',
])('%s gives no warning', (name) => {
  expect(loadConfig({ [name]: '1048576' }).misspelt).toEqual([])
})
