import selectSerializer from '@fastify/fast-json-stringify-compiler'

type Serializer = ReturnType<ReturnType<ReturnType<typeof selectSerializer>>>
interface ResponseSchema {
  readonly schema: object
  readonly method: string
  readonly url: string
  readonly httpStatus?: string
}

const BUILD = selectSerializer()({}, {})
/** Schemas are constants: what is compiled for one app serves each in this process. */
const KNOWN = new WeakMap<object, Serializer>()

/**
 * Compiles schemas of responses to serializers, each schema once, with its first response.
 *
 * Nine in ten responses have the schema of the error body: to compile it for each of them took two
 * thirds of the time in which the routes are registered.
 */
export function serializerCompiler(): (response: ResponseSchema) => Serializer {
  return ({ httpStatus = '', ...response }) => {
    const found = KNOWN.get(response.schema)
    if (found !== undefined) return found
    let compiled: Serializer | null = null
    const serialize: Serializer = (value) => {
      compiled ??= BUILD({ ...response, httpStatus })
      return compiled(value)
    }
    KNOWN.set(response.schema, serialize)
    return serialize
  }
}

/** Writes the bytes with which Fastify would answer: a thread can hand them over without a copy. */
export function writeBody(schema: object, answer: object): Uint8Array<ArrayBuffer> {
  const serialize = serializerCompiler()({ schema, method: 'GET', url: '' })
  return new TextEncoder().encode(serialize(answer))
}
