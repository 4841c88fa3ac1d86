import { expect, test } from 'vitest'
import { loadConfig } from '../../../../src/config.ts'

const ENDPOINT = 'http://collector.lender.example:4318'

function readSettings(env: Readonly<Record<string, string>>) {
  return loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...env }).otel
}

function findFaults(env: Readonly<Record<string, string>>): string {
  try {
    readSettings(env)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('without an endpoint tracing is off, and what platforms set for all programs is ignored', () => {
  const ambient = {
    OTEL_SERVICE_NAME: 'pod',
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_RESOURCE_ATTRIBUTES: 'a',
    OTEL_EXPORTER_OTLP_HEADERS: 'x',
  }
  expect(loadConfig({}).otel).toBeNull()
  expect(loadConfig(ambient).otel).toBeNull()
})

test('an endpoint alone traces the requests that their callers sampled', () => {
  expect(readSettings({})).toEqual({
    url: `${ENDPOINT}/v1/traces`,
    headers: {},
    resource: { 'service.name': 'scoreline' },
    rootShare: 0,
  })
  expect(readSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://o.example/otlp/' })?.url).toBe(
    'https://o.example/otlp/v1/traces',
  )
})

test('headers and attributes are pairs with percent-encoded values', () => {
  const settings = readSettings({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YTpi, x-scope = a=b ,',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production,team=Kredit%20%26%20Co',
  })
  expect(settings?.headers).toEqual({ authorization: 'Basic YTpi', 'x-scope': 'a=b' })
  expect(settings?.resource).toEqual({
    'deployment.environment.name': 'production',
    team: 'Kredit & Co',
    'service.name': 'scoreline',
  })
})

test('the name of the service is its variable, or else the attribute', () => {
  const attributes = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=from-attributes' }
  expect(readSettings(attributes)?.resource).toEqual({ 'service.name': 'from-attributes' })
  const both = { ...attributes, OTEL_SERVICE_NAME: 'from-name' }
  expect(readSettings(both)?.resource).toEqual({ 'service.name': 'from-name' })
})

test.each([
  ['parentbased_always_off', undefined, 0],
  ['parentbased_always_off', '0.5', 0],
  ['parentbased_always_on', undefined, 1],
  ['parentbased_traceidratio', undefined, 1],
  ['parentbased_traceidratio', '0.01', 0.01],
  ['parentbased_traceidratio', '0', 0],
  ['parentbased_traceidratio', '1.0', 1],
])('the sampler %s with %s begins traces for a share of %d', (sampler, arg, share) => {
  const env = {
    OTEL_TRACES_SAMPLER: sampler,
    ...(arg !== undefined && { OTEL_TRACES_SAMPLER_ARG: arg }),
  }
  expect(readSettings(env)?.rootShare).toBe(share)
})

test.each<[string, Record<string, string>, RegExp]>([
  ['another protocol', { OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://c:4317' }, /ENDPOINT must be a URL/],
  ['no URL', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' }, /ENDPOINT must be a URL/],
  ['a query', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c?a=b' }, /ENDPOINT must be a URL/],
  ['a sampler that ignores callers', { OTEL_TRACES_SAMPLER: 'always_on' }, /SAMPLER must be one/],
  ['a header without a value', { OTEL_EXPORTER_OTLP_HEADERS: 'token' }, /HEADERS must be/],
  ['a header of ours', { OTEL_EXPORTER_OTLP_HEADERS: 'Content-Type=a' }, /HEADERS must be/],
  ['a broken header', { OTEL_EXPORTER_OTLP_HEADERS: 'a=b%0d%0ac' }, /HEADERS must be/],
  ['a broken escape', { OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' }, /HEADERS must be/],
  ['an attribute without a name', { OTEL_RESOURCE_ATTRIBUTES: '=a' }, /ATTRIBUTES must be/],
])('%s stops the start', (_, env, fault) => {
  expect(findFaults(env)).toMatch(fault)
})

test.each(['1.1', '-1', 'all', '1e-3', ''])(
  'a share of %j stops the start or is the default',
  (arg) => {
    const env = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: arg }
    if (arg === '') expect(readSettings(env)?.rootShare).toBe(1)
    else expect(findFaults(env)).toMatch(/OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1/)
  },
)

// A token in the text of a failed start would be in the log of the platform.
test('no fault quotes a header', () => {
  expect(findFaults({ OTEL_EXPORTER_OTLP_HEADERS: 'hush-hush' })).not.toContain('hush')
})
