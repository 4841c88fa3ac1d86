import { isUtf8 } from 'node:buffer'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { BINS_MAX } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import { free } from '../platform/bytes/free.ts'
import {
  cardSteps,
  jsonSteps,
  parseApplicants,
  parseJson,
  STEPPED_CHARS_MIN,
} from '../platform/json.ts'
import { APPLICANT_NAMES_MAX } from '../platform/json-shape.ts'
import { findStringEnd, skipBlanks, stringEndSteps } from '../platform/json-strings.ts'
import type { Steps } from '../platform/steps.ts'
import { runInTurns, takeTurn } from '../platform/turn-taker.ts'
import { hungUp } from './connected.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Receives the body as it was sent, before it is parsed; null: nobody asks for it. */
    onBody: ((bytes: Buffer) => void) | null
    /** Throws if the body, which is there, should not be parsed. */
    checkBody: (() => void) | null
  }
}

/** Makes JSON the only type of body that the service reads. */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.decorateRequest('onBody', null)
  app.decorateRequest('checkBody', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, sent, done) => {
    const body = sent as Buffer
    try {
      request.checkBody?.()
      request.onBody?.(body)
      // Other bytes would become another text: a category that nobody sent.
      if (!isUtf8(body)) throw new AppError('invalid_request', 'the body is not UTF-8')
      const read = request.routeOptions.config.insteadOfParsing?.(request, body) ?? null
      const value = read?.then((it) => it ?? parsed(request, body)) ?? parsed(request, body)
      if (value instanceof Promise) value.then((it) => done(null, it), done)
      else done(null, value)
    } catch (error) {
      done(error as Error)
    }
  })
}

/** Returns a promise for a body with a card, and for a long one: the largest take 30 to 80 ms. */
function parsed({ raw, routeOptions }: FastifyRequest, body: Buffer): unknown {
  const { config, schema } = routeOptions
  const needsNone = schema?.body === undefined || config.isBodyOptional === true
  if (needsNone && body.length === 0) return undefined
  const text = body.toString()
  // A copy of Fastify's, which nobody else has.
  free(body)
  if (config.takesCard === true) return runInTurns(whileConnected(raw.socket, readCard(text)))
  // One read of a connection can bring the bodies of ten batches.
  if (config.load === 'batch') return takeTurn().then(() => parseApplicants(text))
  const hasApplicants = config.load !== undefined || config.takesApplicant === true
  if (hasApplicants) return parseApplicants(text, APPLICANT_NAMES_MAX)
  if (text.length < STEPPED_CHARS_MIN) return parseJson(text)
  return runInTurns(whileConnected(raw.socket, jsonSteps(text)))
}

function* readCard(text: string): Steps<unknown> {
  yield* refuseOversizedCard(text)
  return yield* cardSteps(text)
}

/** Ends the work when its client has hung up: the budget for bodies holds its memory no longer. */
function* whileConnected<T>(socket: Socket, steps: Steps<T>): Steps<T> {
  for (;;) {
    if (socket.destroyed) throw hungUp()
    const step = steps.next()
    if (step.done === true) return step.value
    yield
  }
}

const CHARSETS = /;\s*charset\s*=([^;]*)/gi
const UTF_8 = /^(?:utf-?8|"utf-?8")$/i
/** Longest charset that an error repeats. */
const CHARSET_CHARS_MAX = 40

/**
 * Refuses bodies that are compressed, or in another encoding of characters than UTF-8: read as if
 * they were neither, their texts would be others than their sender wrote. Before the body is read.
 */
export const bodyFormPlugin = fastifyPlugin(
  async (app) => {
    app.addHook('preParsing', (request, _reply, payload, done) => {
      const fault = findFault(request)
      if (fault === null) done(null, payload)
      else done(new AppError('unsupported_media_type', fault))
    })
  },
  { name: 'body-form', fastify: '5.x' },
)

function findFault({ headers }: FastifyRequest): string | null {
  const coding = headers['content-encoding']
  if (coding !== undefined && coding !== '' && coding.toLowerCase() !== 'identity') {
    return 'send the body as it is, without the header Content-Encoding'
  }
  // Every charset: where two differ, readers disagree about which one counts.
  const charsets = [...(headers['content-type'] ?? '').matchAll(CHARSETS)]
  const other = charsets.map(([, charset = '']) => charset.trim()).find((one) => !UTF_8.test(one))
  if (other === undefined) return null
  const name = other.replace(/^"(.*)"$/, '$1').slice(0, CHARSET_CHARS_MAX)
  return (
    `send the body in UTF-8, not in the charset "${name}", ` +
    'with the header Content-Type: application/json'
  )
}

const QUOTE = '"'
/** Names down to the bins of a card in a body; null: an item of an array. */
const BINS_PATH = ['spec', 'features', null, 'bins', null]
/** Texts and brackets that are looked at; those of the largest legal card are about 300,000. */
const TOKENS_MAX = 500_000
const TOKENS_A_STEP = 2_000

/**
 * Refuses a body whose card has more bins than a card may have, before it is parsed: to parse and
 * check 300,000 bins takes 0.6 s of processor time and 130 MB. It reads no further than the first
 * bin too many. Any other body costs one search for each of its first objects.
 *
 * @throws AppError `invalid_spec`
 */
export function* refuseOversizedCard(text: string): Steps<void> {
  if (!hasManyObjects(text) || (yield* countBins(text)) <= BINS_MAX) return
  const message = `must have at most ${BINS_MAX} bins together, but have more`
  throw new AppError('invalid_spec', 'the scorecard specification has 1 fault', {
    details: [{ path: 'features', message }],
  })
}

/** Each bin is one; so is each row of a sample beside the card. */
function hasManyObjects(text: string): boolean {
  let count = 0
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', at + 1)) {
    if (++count > BINS_MAX) return true
  }
  return false
}

/**
 * Counts bins, and stops at the first one too many, or at a text that costs more than it can save:
 * 14 million brackets would take a second. It takes any text; JSON is checked later.
 */
function* countBins(text: string): Steps<number> {
  const brackets = /["{}[\]]/g
  /** The name in each open object that was read last; null in an array. */
  const names: (string | null)[] = []
  let bins = 0
  for (let read = 0; read < TOKENS_MAX; read++) {
    if (read % TOKENS_A_STEP === 0) yield
    const token = brackets.exec(text)
    if (token === null) break
    const { index } = token
    switch (token[0]) {
      case QUOTE: {
        let end = findStringEnd(text, index)
        if (end < 0) end = yield* stringEndSteps(text, -end)
        end++
        if (text[skipBlanks(text, end)] === ':' && names.at(-1) !== null) {
          names[names.length - 1] = nameIn(text.slice(index, end))
        }
        brackets.lastIndex = end
        break
      }
      case '{':
        if (isBin(names) && ++bins > BINS_MAX) return bins
        names.push('')
        break
      case '[':
        names.push(null)
        break
      default:
        names.pop()
    }
  }
  return bins
}

function isBin(names: readonly (string | null)[]): boolean {
  return names.length === BINS_PATH.length && BINS_PATH.every((name, at) => names[at] === name)
}

/** A name may be written with escapes. */
function nameIn(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return String(JSON.parse(quoted))
  } catch {
    return ''
  }
}
