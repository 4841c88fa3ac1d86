import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { AppError } from '../errors.ts'

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
