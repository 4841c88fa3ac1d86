import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'

test('without any variable the service runs embedded on loopback', () => {
  expect(loadConfig({})).toEqual({
    host: '127.0.0.1',
    buildCommit: null,
    acceptLaterVersion: null,
    otel: null,
    metricsDeployments: 0,
    misspelt: [],
    oidc: null,
    breakGlassEmail: null,
    streamsAudit: false,
    port: 3000,
    publicUrl: null,
    rateLimitPerMinute: 1000,
    redisUrl: null,
    databaseUrl: null,
    dataDir: './data',
    workers: 1,
    batchThreads: null,
    jwtSecret: null,
    formerJwtSecret: null,
    bootstrapOwner: null,
    specCacheTtlMs: 60_000,
    trustProxy: [],
    logLevel: 'info',
    bodyLimitBytes: 16_777_216,
    scoreLogDurability: 'process',
    scoreLogRetentionDays: 761,
    scoreLogArchive: null,
    scoreLogArchiveAfterMs: 72 * 3_600_000,
    scoreLogArchiveCheckDays: 30,
    awsEndpointUrl: null,
    awsRegion: 'us-east-1',
    usesPathStyle: false,
    batchStore: null,
    batchBytesMax: 1_073_741_824,
    batchRecordsMax: 10_000_000,
    batchFreeBytesMin: 1_073_741_824,
    batchTeamBytesMax: 17_179_869_184,
    batchKeptMs: 7 * 86_400_000,
    outcomeHoldDays: 30,
    changeRequestLifeMs: 72 * 3_600_000,
    webhookAllowedNetworks: [],
    // About a day in all.
    webhookRetryMs: [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 21_600, 36_000].map(
      (seconds) => 1_000 * seconds,
    ),
    spoolBytesMax: 4_294_967_296,
    idempotencyBytesMax: 8_589_934_592,
    spoolKeepMs: 900_000,
  })
})

test('empty variables, as container files leave them, take the defaults', () => {
  const empty = { PORT: '', DATABASE_URL: '', JWT_SECRET: '', TRUST_PROXY: '' }
  expect(loadConfig(empty)).toEqual(loadConfig({}))
})

// An operator who learns of one wrong variable per start needs as many starts as mistakes.
test('every wrong variable is named in one message, and no value', () => {
  const secret = 'hush-hush'
  const env = {
    PORT: '70000',
    PUBLIC_URL: `ftp://${secret}`,
    DATABASE_URL: `mysql://user:${secret}@host/db`,
    REDIS_URL: `http://user:${secret}@host`,
    RATE_LIMIT_PER_MINUTE: '0',
    JWT_SECRET: secret,
    BOOTSTRAP_OWNER_EMAIL: secret,
    SPEC_CACHE_TTL_SECONDS: '-1',
    TRUST_PROXY: `true,${secret}`,
    LOG_LEVEL: secret,
    BODY_LIMIT_BYTES: '1e6',
    SCORE_LOG_DURABILITY: secret,
    SCORE_LOG_RETENTION_DAYS: '0',
    SCORE_LOG_ARCHIVE: `ftp://`,
    SCORE_LOG_ARCHIVE_AFTER_HOURS: '3',
    AWS_ENDPOINT_URL: `s3://`,
    AWS_REGION: ` `,
    OBJECT_STORE_PATH_STYLE: secret,
    OUTCOME_HOLD_DAYS: '0',
    SPOOL_MAX_BYTES: '1',
    IDEMPOTENCY_MAX_BYTES: '1',
    CHANGE_REQUEST_HOURS: '0',
    WEBHOOK_ALLOWED_NETWORKS: `10.0.0.0/8,${secret}`,
    WEBHOOK_RETRY_SECONDS: '5,0',
    WORKERS: '0',
  }
  const message = formatMessage(() => loadConfig(env))
  for (const name of Object.keys(env)) expect(message).toContain(name)
  expect(message).toContain('BOOTSTRAP_OWNER_PASSWORD')
  expect(message).not.toContain(secret)
})

test.each(['https://me@host', 'https://host/?a=b', 'https://host/#a'])(
  'PUBLIC_URL, which paths are put behind, is not %s',
  (url) => {
    expect(formatMessage(() => loadConfig({ PUBLIC_URL: url }))).toContain('PUBLIC_URL')
  },
)

test.each(['redis://host:6379/1', 'rediss://user:password@host'])('REDIS_URL takes %s', (url) => {
  expect(loadConfig({ REDIS_URL: url }).redisUrl).toBe(url)
})

// Two processes on the embedded database would damage it, and without Redis each would grant the
// quota.
test('several workers need a database and a Redis that they can share', () => {
  const secret = { JWT_SECRET: 'x'.repeat(32) }
  const database = { DATABASE_URL: 'postgres://localhost/scoreline' }
  const redis = { REDIS_URL: 'redis://localhost' }
  const alone = formatMessage(() => loadConfig({ WORKERS: '2' }))
  expect(alone).toMatch(/WORKERS above 1 needs DATABASE_URL.*\n.*WORKERS above 1 needs REDIS_URL/)
  expect(formatMessage(() => loadConfig({ WORKERS: '2', ...secret, ...database }))).toMatch(
    'REDIS_URL',
  )
  expect(loadConfig({ WORKERS: '2', ...secret, ...database, ...redis }).workers).toBe(2)
})

test('with a shared database the secret of the tokens must be given', () => {
  const message = formatMessage(() =>
    loadConfig({ DATABASE_URL: 'postgres://localhost/scoreline' }),
  )
  expect(message).toContain('JWT_SECRET is required with DATABASE_URL')
})

// A hop count would let a client that connects directly choose its address.
test.each(['1', 'true', '10.0.0.0/33', '10.0.0.0/8/8', 'proxy.example'])(
  'TRUST_PROXY=%s is refused',
  (value) => {
    expect(formatMessage(() => loadConfig({ TRUST_PROXY: value }))).toContain('TRUST_PROXY')
  },
)

test('TRUST_PROXY takes addresses and CIDRs', () => {
  const { trustProxy } = loadConfig({ TRUST_PROXY: '10.0.0.0/8, ::1,fd00::/64' })
  expect(trustProxy).toEqual(['10.0.0.0/8', '::1', 'fd00::/64'])
})

function formatMessage(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  return 'did not throw'
}

// The start ended with the stack of a library; and who trusts all lets each client choose its
// address.
test.each(['0.0.0.0/0', '::/0', '10.0.0.1,::/0', '10.0.0.0/00', 'fe80::1%eth0'])(
  'TRUST_PROXY=%s is refused by name, with what it takes',
  (value) => {
    const message = formatMessage(() => loadConfig({ TRUST_PROXY: value }))
    expect(message).toContain('TRUST_PROXY must be addresses or CIDRs of your proxies')
  },
)

// Orchestrators mount secrets as files, because every tool can print an environment.
test.each(['DATABASE_URL', 'REDIS_URL', 'JWT_SECRET', 'BOOTSTRAP_OWNER_PASSWORD'])(
  '%s may be in a file, without the line break at its end',
  (name) => {
    const values = {
      DATABASE_URL: 'postgres://host/db',
      REDIS_URL: 'rediss://user:password@host',
      JWT_SECRET: 'x'.repeat(32),
      BOOTSTRAP_OWNER_EMAIL: 'owner@lender.example',
      BOOTSTRAP_OWNER_PASSWORD: 'a password ',
    }
    const { [name as keyof typeof values]: secret, ...others } = values
    const readFile = (path: string) => (path === '/run/one' ? `${secret}\n` : '')
    const config = loadConfig({ ...others, [`${name}_FILE`]: '/run/one' }, readFile)
    expect(config).toEqual(loadConfig(values))
  },
)

test("a secret that is set twice, can't be read, or is empty is named, without its value", () => {
  const readFile = (path: string) => {
    if (path !== 'empty') throw new Error(`no ${path}`)
    return '\n'
  }
  const env = {
    DATABASE_URL: 'postgres://hush@host/db',
    DATABASE_URL_FILE: 'hush',
    REDIS_URL_FILE: 'empty',
    JWT_SECRET_FILE: 'hush',
  }
  const message = formatMessage(() => loadConfig(env, readFile))
  expect(message).toContain('DATABASE_URL and DATABASE_URL_FILE are both set')
  expect(message).toContain('REDIS_URL_FILE must name a file that is not empty')
  expect(message).toContain('JWT_SECRET_FILE must name a file that the service can read')
  expect(message).not.toContain('hush')
})

test('JWT_SECRET takes two secrets, of which the first one signs', () => {
  const [next, former] = ['n'.repeat(32), 'f'.repeat(32)]
  const read = (secret: string) => loadConfig({ JWT_SECRET: secret })
  expect(read(`${next},${former}`)).toMatchObject({ jwtSecret: next, formerJwtSecret: former })
  expect(formatMessage(() => read(`${next},${former},${next}`))).toContain('JWT_SECRET must have')
  // Such a secret was valid before two were taken, and goes on being one.
  for (const one of [`${next},short`, `short,${former}`, `${next},`]) {
    expect(read(one)).toMatchObject({ jwtSecret: one, formerJwtSecret: null })
  }
})
