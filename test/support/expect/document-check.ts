import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'

type Json = Readonly<Record<string, unknown>>

/** An operation of the document, and where it stands in it. */
export interface DocumentedOperation {
  readonly method: string
  readonly path: string
  readonly operation: Json
}

interface Answer {
  readonly method: string
  readonly url: string
  readonly response: LightMyRequestResponse
}

const FORMATS = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  double: { type: 'number', validate: Number.isFinite },
  int32: { type: 'number', validate: (value: number) => value === (value | 0) },
  int64: { type: 'number', validate: Number.isSafeInteger },
} as const

/** Holds answers against an OpenAPI document, as a client made from it would have to take them. */
export class DocumentCheck {
  readonly operations: readonly DocumentedOperation[]
  private readonly document: Json
  private readonly ajv: Ajv2020
  private readonly validators = new Map<string, ValidateFunction>()

  constructor(document: Json) {
    this.document = document
    this.operations = Object.entries(document['paths'] as Json).flatMap(([path, item]) =>
      Object.entries(item as Json).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation: operation as Json,
      })),
    )
    this.ajv = new Ajv2020({ strict: false, formats: FORMATS })
    this.ajv.addSchema(closed(document) as Json, 'document')
  }

  /**
   * What the document of an app says.
   *
   * @param publicUrl of the app: apps differ in nothing else that their documents say
   */
  static of(app: FastifyInstance, publicUrl: string | null): DocumentCheck {
    const known =
      CHECKS.get(publicUrl) ?? new DocumentCheck(JSON.parse(JSON.stringify(app.swagger())))
    CHECKS.set(publicUrl, known)
    return known
  }

  /** @throws Error when the document does not say that the service may answer so */
  expectDocumented({ method, url, response }: Answer): void {
    const found = this.operationAt(method, url)
    // What leads nowhere is answered before any operation is known, and so is the page of the
    // document.
    if (found === null) return
    const { statusCode: status } = response
    const place = `${method} ${found.path} ${status}`
    const responses = found.operation['responses'] as Json
    if (responses[status] === undefined) throw new Error(`${place} is not documented`)
    const at = ['paths', found.path, method.toLowerCase(), 'responses', String(status)]
    const { pointer, value } = this.resolved(at)
    for (const name of Object.keys((value['headers'] ?? {}) as Json)) {
      const { value: header } = this.resolved([...pointer, 'headers', name])
      if (header['required'] === true && response.headers[name.toLowerCase()] === undefined) {
        throw new Error(`${place} lacks the header ${name}`)
      }
    }
    if (value['content'] === undefined) {
      if (response.body !== '') throw new Error(`${place} has a body: ${response.body}`)
      return
    }
    const type = String(response.headers['content-type']).split(';')[0] ?? ''
    if (!Object.hasOwn(value['content'] as Json, type)) throw new Error(`${place} is ${type}`)
    const validate = this.validator([...pointer, 'content', type, 'schema'])
    if (type !== 'application/json') return
    const codes = value['x-error-codes']
    if (Array.isArray(codes) && !codes.includes(response.json().error)) {
      throw new Error(`${place}: ${response.json().error} is not one of ${codes}`)
    }
    if (validate(response.json())) return
    throw new Error(`${place}: ${this.ajv.errorsText(validate.errors)} in ${response.body}`)
  }

  /** Validates against a schema of the document, at this place in it. */
  validator(place: readonly string[]): ValidateFunction {
    const steps = place.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'))
    const $ref = `document#/${steps.map(encodeURIComponent).join('/')}`
    const validate = this.validators.get($ref) ?? this.ajv.compile({ $ref })
    this.validators.set($ref, validate)
    return validate
  }

  private operationAt(method: string, url: string): DocumentedOperation | null {
    // As a client writes it: a backslash is a slash, `..` goes up.
    const steps = URL.parse(url, 'http://127.0.0.1')?.pathname.split('/')
    if (steps === undefined || !steps.every(isDecodable)) return null
    const fits = ({ path, method: its }: DocumentedOperation) => {
      const pattern = path.split('/')
      const isSame = (step: string, i: number) => step.startsWith('{') || step === steps[i]
      return its === method && pattern.length === steps.length && pattern.every(isSame)
    }
    const found = this.operations.filter(fits)
    return found.find(({ path }) => !path.includes('{')) ?? found[0] ?? null
  }

  /** Follows a reference, if there is one. */
  private resolved(place: readonly string[]): { pointer: readonly string[]; value: Json } {
    const value = place.reduce<Json>((part, step) => part[step] as Json, this.document)
    if (typeof value['$ref'] !== 'string') return { pointer: place, value }
    return this.resolved(value['$ref'].split('/').slice(1))
  }
}

/** By the public address of the apps: to compile the schemas takes most of a short test. */
const CHECKS = new Map<string | null, DocumentCheck>()

/** An empty parameter leads nowhere. */
function isDecodable(step: string, index: number): boolean {
  try {
    return decodeURIComponent(step) !== '' || index === 0
  } catch {
    return false
  }
}

/** The document with no property allowed in its named schemas that it does not mention. */
function closed(document: Json): unknown {
  const components = document['components'] as Json
  const schemas = Object.entries(components['schemas'] as Json).map(([name, schema]) => [
    name,
    withoutMore(schema),
  ])
  return { ...document, components: { ...components, schemas: Object.fromEntries(schemas) } }
}

function withoutMore(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withoutMore)
  if (typeof part !== 'object' || part === null) return part
  const copy = Object.fromEntries(Object.entries(part).map(([key, one]) => [key, withoutMore(one)]))
  const isOpen = 'properties' in part && 'type' in part && !('additionalProperties' in part)
  return isOpen ? { ...copy, additionalProperties: false } : copy
}
