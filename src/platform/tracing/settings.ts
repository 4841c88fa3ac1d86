import type { VariableReader } from '../variable-reader.ts'

/** The target of spans, and which requests become spans. */
export interface TracingSettings {
  /** Address that takes spans, `http:` or `https:`. */
  readonly url: string
  /** Sent with each request to it; may hold a secret. */
  readonly headers: Readonly<Record<string, string>>
  /** Attributes that every span has of this service; always has `service.name`. */
  readonly resource: Readonly<Record<string, string>>
  /** Share of the requests without `traceparent` that become spans, 0 to 1. */
  readonly rootShare: number
}

const TRACES_PATH = '/v1/traces'
const DEFAULT_SERVICE = 'scoreline'
const PAIRS_MAX = 64
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const HEADER_VALUE = /^[ -~]*$/
/** Headers that the request itself needs. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
])
const SAMPLERS = {
  off: 'parentbased_always_off',
  on: 'parentbased_always_on',
  ratio: 'parentbased_traceidratio',
} as const

/**
 * Reads the variables of OpenTelemetry that the service knows; faults go to the reader.
 *
 * Without an endpoint the others are not looked at: platforms set them for all programs.
 *
 * @returns null: no request becomes a span
 */
export function readTracing(read: VariableReader): TracingSettings | null {
  const endpoint = read.text('OTEL_EXPORTER_OTLP_ENDPOINT')
  const headers = readHeaders(read)
  if (endpoint === null) return null
  const parsed = URL.parse(endpoint)
  const isWeb = parsed?.protocol === 'http:' || parsed?.protocol === 'https:'
  if (parsed === null || !isWeb || parsed.search !== '' || parsed.hash !== '') {
    read.faults.push(
      'OTEL_EXPORTER_OTLP_ENDPOINT must be a URL that starts with http:// or https://, without a query',
    )
  }
  return {
    url: endpoint.replace(/\/+$/, '') + TRACES_PATH,
    headers,
    resource: readResource(read),
    rootShare: readRootShare(read),
  }
}

function readHeaders(read: VariableReader): Record<string, string> {
  const text = read.secret('OTEL_EXPORTER_OTLP_HEADERS')
  if (text === null || read.text('OTEL_EXPORTER_OTLP_ENDPOINT') === null) return {}
  const pairs = pairsIn(text)
  const isRight = pairs?.every(
    ([name, value]) =>
      HEADER_NAME.test(name) && HEADER_VALUE.test(value) && !OWN_HEADERS.has(name.toLowerCase()),
  )
  if (isRight !== true) {
    read.faults.push(
      `OTEL_EXPORTER_OTLP_HEADERS must be up to ${PAIRS_MAX} headers as name=value, separated by commas, with percent-encoded values`,
    )
  }
  return Object.fromEntries(pairs ?? [])
}

function readResource(read: VariableReader): Record<string, string> {
  const pairs = pairsIn(read.text('OTEL_RESOURCE_ATTRIBUTES') ?? '')
  if (pairs === null) {
    read.faults.push(
      `OTEL_RESOURCE_ATTRIBUTES must be up to ${PAIRS_MAX} attributes as name=value, separated by commas, with percent-encoded values`,
    )
  }
  const attributes = Object.fromEntries(pairs ?? [])
  const service = read.text('OTEL_SERVICE_NAME') ?? attributes['service.name'] ?? DEFAULT_SERVICE
  return { ...attributes, 'service.name': service }
}

/**
 * Texts with an equals sign between name and value.
 *
 * @returns null if one is in another form, or there are too many
 */
function pairsIn(text: string): [name: string, value: string][] | null {
  const parts = text.split(',').map((part) => part.trim())
  const pairs: [string, string][] = []
  for (const part of parts.filter((one) => one !== '')) {
    const sign = part.indexOf('=')
    const name = decoded(part.slice(0, Math.max(sign, 0)).trim())
    const value = decoded(part.slice(sign + 1).trim())
    if (name === null || name === '' || value === null) return null
    pairs.push([name, value])
  }
  return pairs.length > PAIRS_MAX ? null : pairs
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/**
 * A request with `traceparent` follows its caller's decision. The samplers differ in what begins a
 * trace of its own.
 */
function readRootShare(read: VariableReader): number {
  const sampler = read.text('OTEL_TRACES_SAMPLER') ?? SAMPLERS.off
  if (sampler === SAMPLERS.off) return 0
  if (sampler === SAMPLERS.on) return 1
  if (sampler !== SAMPLERS.ratio) {
    const names = Object.values(SAMPLERS).join(', ')
    read.faults.push(`OTEL_TRACES_SAMPLER must be one of ${names}`)
    return 0
  }
  const text = read.text('OTEL_TRACES_SAMPLER_ARG') ?? '1'
  const share = /^(?:\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : Number.NaN
  if (share >= 0 && share <= 1) return share
  read.faults.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1')
  return 0
}
