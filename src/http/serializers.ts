import selectSerializer from '@fastify/fast-json-stringify-compiler'

type Serializer = ReturnType<ReturnType<ReturnType<typeof selectSerializer>>>
interface ResponseSchema {
  readonly schema: object
  readonly method: string
  readonly url: string
  readonly httpStatus?: string
}

/**
 * Compiles schemas of responses to serializers, each schema once.
 *
 * Nine in ten responses have the schema of the error body: to compile it for each of them took two
 * thirds of the time in which the routes are registered.
 */
export function serializerCompiler(): (response: ResponseSchema) => Serializer {
  const build = selectSerializer()({}, {})
  const known = new WeakMap<object, Serializer>()
  return ({ httpStatus = '', ...response }) => {
    const serialize = known.get(response.schema) ?? build({ ...response, httpStatus })
    known.set(response.schema, serialize)
    return serialize
  }
}
