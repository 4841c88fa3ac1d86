import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span as a collector understands it. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  readonly name: string
  readonly kind: 'internal' | 'server'
  readonly beganAtNs: bigint
  readonly endedAtNs: bigint
  readonly attributes: Readonly<Record<string, string | number>>
  readonly isError: boolean
  readonly resource: Readonly<Record<string, string | number>>
}

/** Answers with a status, or never. */
type Behaviour = number | 'silent'

// biome-ignore lint/suspicious/noExplicitAny: what a sender writes is to be checked.
type Json = any

/**
 * A collector that takes OTLP by HTTP as JSON, and refuses what is not exactly in its form. It
 * stands for the real ones: field names and forms of values are those of the standard.
 *
 * @source OpenTelemetry, OTLP 1: OTLP/HTTP, JSON Protobuf Encoding
 */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = []
  readonly headers: IncomingHttpHeaders[] = []
  /** What was wrong with what came. */
  readonly faults: string[] = []
  behaviour: Behaviour = 200
  requests = 0
  private readonly server: Server

  private constructor() {
    this.server = createServer(async (request, response) => {
      this.requests++
      this.headers.push(request.headers)
      let body = ''
      for await (const text of request.setEncoding('utf8')) body += text
      if (this.behaviour === 'silent') return
      response.statusCode = this.behaviour
      if (this.behaviour === 200) {
        try {
          this.spans.push(...spansIn(request.url, request.headers, JSON.parse(body)))
        } catch (error) {
          this.faults.push(String(error))
          response.statusCode = 400
        }
      }
      response.setHeader('content-type', 'application/json')
      response.end('{}')
    })
  }

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver()
    receiver.server.listen(0, '127.0.0.1')
    await once(receiver.server, 'listening')
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Spans of a trace, the server's first and then in the order of their beginning. */
  trace(traceId: string): ReceivedSpan[] {
    const found = this.spans.filter((span) => span.traceId === traceId)
    return found.toSorted((a, b) =>
      a.kind === b.kind ? Number(a.beganAtNs - b.beganAtNs) : a.kind === 'server' ? -1 : 1,
    )
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    if (!this.server.listening) return
    this.server.close()
    await once(this.server, 'close')
  }
}

function spansIn(url = '', headers: IncomingHttpHeaders, body: Json): ReceivedSpan[] {
  expectTrue(url === '/v1/traces', `the path ${url}`)
  expectTrue(headers['content-type'] === 'application/json', 'the content type')
  return fields(body, ['resourceSpans']).resourceSpans.flatMap((one: Json) => {
    const { resource, scopeSpans } = fields(one, ['resource', 'scopeSpans'])
    const attributes = attributesIn(fields(resource, ['attributes']).attributes)
    return scopeSpans.flatMap((scoped: Json) =>
      fields(scoped, ['scope', 'spans']).spans.map((span: Json) => makeSpan(span, attributes)),
    )
  })
}

const KINDS: Readonly<Record<number, ReceivedSpan['kind']>> = { 1: 'internal', 2: 'server' }

function makeSpan(span: Json, resource: ReceivedSpan['resource']): ReceivedSpan {
  const {
    traceId,
    spanId,
    parentSpanId = null,
    name,
    kind,
    attributes = [],
    status,
  } = fields(
    span,
    ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'],
    ['parentSpanId', 'attributes', 'status'],
  )
  expectTrue(/^[0-9a-f]{32}$/.test(traceId), 'a trace id')
  expectTrue(/^[0-9a-f]{16}$/.test(spanId), 'a span id')
  expectTrue(parentSpanId === null || /^[0-9a-f]{16}$/.test(parentSpanId), 'a parent span id')
  expectTrue(typeof name === 'string' && name !== '', 'a name')
  const named = KINDS[kind]
  if (named === undefined) throw new Error(`not a kind: ${kind}`)
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind: named,
    beganAtNs: readNanoseconds(span.startTimeUnixNano),
    endedAtNs: readNanoseconds(span.endTimeUnixNano),
    attributes: attributesIn(attributes),
    isError: status !== undefined && fields(status, ['code']).code === 2,
    resource,
  }
}

/** 64-bit numbers are texts. */
function readNanoseconds(text: unknown): bigint {
  if (typeof text !== 'string' || !/^\d{19}$/.test(text)) throw new Error('not a time since 1970')
  return BigInt(text)
}

function attributesIn(list: Json): Record<string, string | number> {
  const pairs = list.map((one: Json) => {
    const { key, value } = fields(one, ['key', 'value'])
    if (typeof value.stringValue === 'string')
      return [key, fields(value, ['stringValue']).stringValue]
    expectTrue(/^-?\d+$/.test(value.intValue), `the value of ${key}`)
    return [key, Number(fields(value, ['intValue']).intValue)]
  })
  expectTrue(new Set(pairs.map(([key]: [string]) => key)).size === pairs.length, 'unique keys')
  return Object.fromEntries(pairs)
}

/** The object, if it has the required properties and no unknown one. */
function fields(object: Json, required: readonly string[], optional: readonly string[] = []): Json {
  const names = Object.keys(object)
  const isRight =
    required.every((name) => names.includes(name)) &&
    names.every((name) => required.includes(name) || optional.includes(name))
  expectTrue(isRight, `the fields ${names.join(', ')}`)
  return object
}

function expectTrue(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(`not in the form of OTLP: ${what}`)
}
