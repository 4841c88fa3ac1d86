import { EMAIL_CHARS_MAX, PASSWORD_CHARS_MAX } from '../schemas/auth.ts'
import { isNetwork } from './http/client-network.ts'
import { readSignIn, type SignInConfig } from './identity/auth/oidc/settings.ts'
import { type BatchConfig, readBatches } from './jobs/batches/settings.ts'
import type { Durability } from './log/index.ts'
import { databaseUrlFault } from './platform/db/database-url.ts'
import { findMisspelt } from './platform/misspelt.ts'
import {
  type ObjectStoreConfig,
  parseObjectLocation,
  readObjectStores,
} from './platform/object-store/settings.ts'
import { redisUrlFault } from './platform/redis-cluster/redis-url.ts'
import { readTracing, type TracingSettings } from './platform/tracing/settings.ts'
import { type Environment, readSecretFile, VariableReader } from './platform/variable-reader.ts'

/** The way the process runs, read once from its environment. */
export interface Config extends SignInConfig, ObjectStoreConfig, BatchConfig {
  readonly host: string
  readonly port: number
  /** Base of the URLs in responses, without a trailing slash; `null`: taken from the request. */
  readonly publicUrl: string | null
  /** Quota of a caller that has no quota of its own. */
  readonly rateLimitPerMinute: number
  /** Redis; `null`: this process keeps what replicas would share. */
  readonly redisUrl: string | null
  /** PostgreSQL; `null`: the embedded database, under `dataDir`. */
  readonly databaseUrl: string | null
  readonly dataDir: string
  /** Processes that share the port. */
  readonly workers: number
  /** Threads of each process that score large batches; null: as its cores allow. */
  readonly batchThreads: number | null
  /** `null`: generated once into `dataDir`. */
  readonly jwtSecret: string | null
  /** Secret before the last rotation: its tokens are still accepted, and none is signed with it. */
  readonly formerJwtSecret: string | null
  readonly bootstrapOwner: { readonly email: string; readonly password: string } | null
  /**
   * Longest time that a deployment or key is served from memory without a check in the database.
   */
  readonly specCacheTtlMs: number
  /** Addresses and CIDRs of proxies whose forwarding headers the service trusts. */
  readonly trustProxy: readonly string[]
  readonly logLevel: string
  /** True if committed audit records also go to standard output. */
  readonly streamsAudit: boolean
  readonly bodyLimitBytes: number
  /** How safe a record must be before its response is sent. */
  readonly scoreLogDurability: Durability
  /** Bound of the records that wait on the local disk for the database, in bytes. */
  readonly spoolBytesMax: number
  /** Bound of the answers that are kept for idempotency keys, in bytes of the database. */
  readonly idempotencyBytesMax: number
  /** Time for which records stay on the local disk after the database has them. */
  readonly spoolKeepMs: number
  /** Time for which the score log is kept, in whole days. */
  readonly scoreLogRetentionDays: number
  /** Target of closed days of the score log: a directory or a bucket; `null`: they stay. */
  readonly scoreLogArchive: string | null
  /** Time after its end at which a day goes there. */
  readonly scoreLogArchiveAfterMs: number
  /** Number of days after a check a file there is read again; 0: no file is. */
  readonly scoreLogArchiveCheckDays: number
  /** Time for which an outcome waits for its score, in whole days. */
  readonly outcomeHoldDays: number
  /** Time for which a change waits for a second person. */
  readonly changeRequestLifeMs: number
  /** Networks that webhooks may reach beside the public Internet, and by `http`. */
  readonly webhookAllowedNetworks: readonly string[]
  /** Wait after each failed attempt of a webhook; after the last one it is given up. */
  readonly webhookRetryMs: readonly number[]
  /** Commit of this build, as its image names it; null: it does not. */
  readonly buildCommit: string | null
  /** Later version on whose data this one starts all the same. */
  readonly acceptLaterVersion: string | null
  /** Number of deployments that have metrics of their own; 0: none. */
  readonly metricsDeployments: number
  /** Target of spans; null: no request becomes a span. */
  readonly otel: TracingSettings | null
  /** Variables that have no effect and look like ones that have, each as a warning. */
  readonly misspelt: readonly string[]
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const DURABILITIES: readonly Durability[] = ['process', 'disk', 'database']
const JWT_SECRET_BYTES_MIN = 32
const WORKERS_MAX = 256
const BATCH_THREADS_MAX = 64
/** Prometheus keeps six series for each. */
const METRICS_DEPLOYMENTS_MAX = 1_000
/** Largest value of the column that holds the quota of a key. */
const RATE_LIMIT_MAX = 2 ** 31 - 1

/**
 * Names the wrong variables and what they must be, but never their values, which may be secrets.
 */
export class ConfigError extends Error {
  constructor(faults: readonly string[]) {
    super(`wrong configuration:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

/**
 * Reads the configuration; variables that are absent or empty take their defaults. A secret may be
 * in a file that its variable with the ending `_FILE` names.
 *
 * @param readFile reads such a file; it throws if it can't
 * @throws ConfigError naming every wrong variable at once
 */
export function loadConfig(env: Environment, readFile = readSecretFile): Config {
  const read = new VariableReader(env, readFile)
  const databaseUrl = read.checked('DATABASE_URL', databaseUrlFault)
  const publicUrl = read.url('PUBLIC_URL', ['http:', 'https:'])
  const settings: Omit<Config, 'misspelt'> = {
    host: read.text('HOST') ?? '127.0.0.1',
    port: read.integer('PORT', 3000, 0, 65_535),
    publicUrl: publicUrl === null ? null : publicUrl.replace(/\/+$/, ''),
    rateLimitPerMinute: read.integer('RATE_LIMIT_PER_MINUTE', 1000, 1, RATE_LIMIT_MAX),
    redisUrl: read.checked('REDIS_URL', redisUrlFault),
    databaseUrl,
    dataDir: read.text('DATA_DIR') ?? './data',
    workers: read.integer('WORKERS', 1, 1, WORKERS_MAX),
    batchThreads: read.integer('BATCH_THREADS', null, 0, BATCH_THREADS_MAX),
    ...readJwtSecrets(read, databaseUrl !== null),
    ...readSignIn(read, publicUrl),
    bootstrapOwner: readBootstrapOwner(read),
    specCacheTtlMs: 1000 * read.integer('SPEC_CACHE_TTL_SECONDS', 60, 1, 86_400),
    trustProxy: readTrustProxy(read),
    logLevel: readLogLevel(read),
    streamsAudit: readAuditStream(read),
    bodyLimitBytes: read.integer('BODY_LIMIT_BYTES', 16 * 1024 * 1024, 1024, 1024 * 1024 * 1024),
    scoreLogDurability: readDurability(read),
    scoreLogRetentionDays: read.integer('SCORE_LOG_RETENTION_DAYS', 761, 1, 36_500),
    scoreLogArchive: readArchive(read),
    scoreLogArchiveAfterMs:
      3_600_000 * read.integer('SCORE_LOG_ARCHIVE_AFTER_HOURS', 72, 4, 876_000),
    scoreLogArchiveCheckDays: read.integer('SCORE_LOG_ARCHIVE_CHECK_DAYS', 30, 0, 3_650),
    ...readObjectStores(read),
    ...readBatches(read),
    outcomeHoldDays: read.integer('OUTCOME_HOLD_DAYS', 30, 1, 3_650),
    spoolBytesMax: read.integer('SPOOL_MAX_BYTES', 4 * 1024 ** 3, 1024 ** 2, 1024 ** 5 - 1),
    idempotencyBytesMax: read.integer(
      'IDEMPOTENCY_MAX_BYTES',
      8 * 1024 ** 3,
      1024 ** 2,
      1024 ** 5 - 1,
    ),
    spoolKeepMs: 1000 * read.integer('SPOOL_KEEP_SECONDS', 900, 0, 86_400),
    changeRequestLifeMs: 3_600_000 * read.integer('CHANGE_REQUEST_HOURS', 72, 1, 720),
    webhookAllowedNetworks: readAllowedNetworks(read),
    webhookRetryMs: readRetries(read),
    buildCommit: read.text('BUILD_COMMIT'),
    acceptLaterVersion: readAcceptedVersion(read),
    metricsDeployments: read.integer('METRICS_DEPLOYMENTS', 0, 0, METRICS_DEPLOYMENTS_MAX),
    otel: readTracing(read),
  }
  checkWorkers(read, settings)
  if (read.faults.length > 0) throw new ConfigError(read.faults)
  return Object.freeze({ ...settings, misspelt: findMisspelt(Object.keys(env), read.asked) })
}

/**
 * Reads what a migration needs of the configuration.
 *
 * @throws ConfigError
 */
export function loadDatabaseConfig(env: Environment): {
  readonly url: string
  readonly acceptedVersion: string | null
} {
  const read = new VariableReader(env, readSecretFile)
  const url = read.checked('DATABASE_URL', databaseUrlFault) ?? ''
  const acceptedVersion = readAcceptedVersion(read)
  if (url === '' && read.faults.length === 0) read.faults.push('DATABASE_URL is required')
  if (read.faults.length > 0) throw new ConfigError(read.faults)
  return { url, acceptedVersion }
}

function readAcceptedVersion(read: VariableReader): string | null {
  return read.checked('ACCEPT_LATER_VERSION', (text) =>
    /^(?:\d+\.\d+\.\d+\S*|unknown)$/.test(text) ? null : 'must be a version, such as 1.2.3',
  )
}

/**
 * One secret, or two with a comma: the one that signs, and the one before it. A text with a part
 * that is too short to be a secret is one secret, whose comma is part of it.
 */
function readJwtSecrets(
  read: VariableReader,
  isRequired: boolean,
): Pick<Config, 'jwtSecret' | 'formerJwtSecret'> {
  const faultsBefore = read.faults.length
  const text = read.secret('JWT_SECRET')
  if (text === null) {
    if (isRequired && read.faults.length === faultsBefore) {
      read.faults.push('JWT_SECRET is required with DATABASE_URL: all replicas must share it')
    }
    return { jwtSecret: null, formerJwtSecret: null }
  }
  const isLong = (secret: string) => Buffer.byteLength(secret) >= JWT_SECRET_BYTES_MIN
  const parts = text.split(',')
  const [jwtSecret = text, former = null, ...rest] = parts.every(isLong) ? parts : [text]
  if (rest.length > 0 || !isLong(jwtSecret)) {
    read.faults.push(
      `JWT_SECRET must have at least ${JWT_SECRET_BYTES_MIN} bytes, or be two such secrets with a comma between them`,
    )
  }
  return { jwtSecret, formerJwtSecret: former }
}

/** The embedded database has one process; without Redis each would grant the whole quota. */
function checkWorkers(
  read: VariableReader,
  { workers, databaseUrl, redisUrl }: Pick<Config, 'workers' | 'databaseUrl' | 'redisUrl'>,
): void {
  if (workers === 1) return
  if (databaseUrl === null) {
    read.faults.push('WORKERS above 1 needs DATABASE_URL: the embedded database has one process')
  }
  if (redisUrl === null) {
    read.faults.push('WORKERS above 1 needs REDIS_URL: it counts the quota of all workers together')
  }
}

function readBootstrapOwner(read: VariableReader): Config['bootstrapOwner'] {
  const email = read.text('BOOTSTRAP_OWNER_EMAIL')
  const password = read.secret('BOOTSTRAP_OWNER_PASSWORD')
  if (email === null && password === null) return null
  const isAddress = email !== null && /^[^@\s]+@[^@\s]+$/.test(email)
  if (!isAddress || email.length > EMAIL_CHARS_MAX) {
    read.faults.push('BOOTSTRAP_OWNER_EMAIL must be an email address')
  }
  if (password === null) {
    read.faults.push('BOOTSTRAP_OWNER_PASSWORD is required with BOOTSTRAP_OWNER_EMAIL')
  } else if (password.length > PASSWORD_CHARS_MAX) {
    read.faults.push(`BOOTSTRAP_OWNER_PASSWORD must have at most ${PASSWORD_CHARS_MAX} characters`)
  }
  return email === null || password === null ? null : { email, password }
}

/**
 * Refuses a number of hops, `true` and a range of all addresses: with them a client that connects
 * directly could choose its address.
 */
function readTrustProxy(read: VariableReader): readonly string[] {
  const text = read.text('TRUST_PROXY')
  if (text === null || text === 'false') return []
  const proxies = text.split(',').map((proxy) => proxy.trim())
  if (!proxies.every(isNetwork)) {
    read.faults.push(
      'TRUST_PROXY must be addresses or CIDRs of your proxies, separated by commas, and not /0',
    )
  }
  return proxies
}

function readLogLevel(read: VariableReader): string {
  const level = read.text('LOG_LEVEL') ?? 'info'
  if (!LOG_LEVELS.includes(level)) {
    read.faults.push(`LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}`)
  }
  return level
}

function readAuditStream(read: VariableReader): boolean {
  const text = read.text('AUDIT_STREAM') ?? 'off'
  if (text !== 'off' && text !== 'stdout') read.faults.push('AUDIT_STREAM must be stdout or off')
  return text === 'stdout'
}

function readDurability(read: VariableReader): Durability {
  const text = read.text('SCORE_LOG_DURABILITY') ?? 'process'
  const durability = DURABILITIES.find((one) => one === text)
  if (durability === undefined) {
    read.faults.push(`SCORE_LOG_DURABILITY must be one of ${DURABILITIES.join(', ')}`)
  }
  return durability ?? 'process'
}

function readArchive(read: VariableReader): string | null {
  const text = read.text('SCORE_LOG_ARCHIVE')
  if (text !== null && parseObjectLocation(text) === null) {
    read.faults.push('SCORE_LOG_ARCHIVE must be file:///directory or s3://bucket/prefix')
  }
  return text
}

function readAllowedNetworks(read: VariableReader): readonly string[] {
  const text = read.text('WEBHOOK_ALLOWED_NETWORKS')
  if (text === null) return []
  const networks = text.split(',').map((network) => network.trim())
  if (!networks.every(isNetwork)) {
    read.faults.push(
      'WEBHOOK_ALLOWED_NETWORKS must be addresses or CIDRs, separated by commas, and not /0',
    )
    return []
  }
  return networks
}

/** 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 6 h and 10 h: about a day in all. */
const WEBHOOK_RETRY_SECONDS = '5,30,120,600,1800,3600,7200,14400,21600,36000'
const RETRIES_MAX = 20
const RETRY_SECONDS_MAX = 86_400

function readRetries(read: VariableReader): readonly number[] {
  const text = read.text('WEBHOOK_RETRY_SECONDS') ?? WEBHOOK_RETRY_SECONDS
  const seconds = text.split(',').map((part) => (/^\d{1,5}$/.test(part) ? Number(part) : 0))
  const isRight = seconds.every((one) => one >= 1 && one <= RETRY_SECONDS_MAX)
  if (!isRight || seconds.length > RETRIES_MAX) {
    read.faults.push(
      `WEBHOOK_RETRY_SECONDS must be up to ${RETRIES_MAX} whole numbers from 1 to ${RETRY_SECONDS_MAX}, separated by commas`,
    )
  }
  return seconds.map((one) => one * 1_000)
}
