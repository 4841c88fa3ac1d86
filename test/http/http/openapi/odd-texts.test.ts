import { beforeAll, describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { DocumentCheck, type DocumentedOperation } from '../../../support/expect/document-check.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

/** Texts that databases, parsers or regular expressions trip over. */
const ODD_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  "'; drop table models; --",
  '%',
  '../../etc/passwd',
  '\u{1F600}\u202E',
  '9'.repeat(400),
  '-1e999',
  '{"a":[1]}',
  'x'.repeat(5_000),
]

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema?: { readonly enum?: readonly unknown[]; readonly examples?: readonly unknown[] }
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let token: string
  let key: string
  let slug: string

  beforeAll(async () => {
    token = await service.signIn()
    slug = await service.deploy(token, card([plainFeature('income')]))
    key = await service.createKey(token)
  })

  /** What stands for a parameter while another one is odd. */
  function usualValue({ name, schema, example, examples }: Parameter): string {
    if (name === 'slug') return slug
    const [given] = [example, ...Object.values(examples ?? {}).map(({ value }) => value)]
    return String(given ?? schema?.examples?.[0] ?? schema?.enum?.[0] ?? 'x')
  }

  async function answerTo(
    { method, path, operation }: DocumentedOperation,
    odd: Parameter,
    text: string,
  ) {
    const parameters = (operation['parameters'] ?? []) as readonly Parameter[]
    const chosenValue = (one: Parameter) => (one.name === odd.name ? text : usualValue(one))
    const wanted = parameters.filter((one) => one === odd || one.required === true)
    const url = wanted
      .filter((one) => one.in === 'path')
      .reduce((at, one) => at.replace(`{${one.name}}`, encodeURIComponent(chosenValue(one))), path)
    const query = wanted
      .filter((one) => one.in === 'query')
      .map((one) => `${one.name}=${encodeURIComponent(chosenValue(one))}`)
    const headers = wanted
      .filter((one) => one.in === 'header')
      .map(
        (one) =>
          [one.name.toLowerCase(), Buffer.from(chosenValue(one)).toString('latin1')] as const,
      )
    const isKeyed = JSON.stringify(operation['security']) === '[{"apiKey":[]}]'
    return service.inject({
      method: method as Method,
      url: query.length === 0 ? url : `${url}?${query.join('&')}`,
      headers: {
        authorization: `Bearer ${isKeyed ? key : token}`,
        ...Object.fromEntries(headers),
        ...(operation['requestBody'] !== undefined && { 'content-type': 'application/json' }),
      },
      ...(operation['requestBody'] !== undefined && { payload: '{}' }),
    })
  }

  // The operations come from the document: a new route is in it without a line here. Each answer is
  // held against the document by the service of the test.
  test('no odd text in any parameter of any operation is answered with 5xx', async () => {
    const failures: string[] = []
    let asked = 0
    const { operations } = DocumentCheck.of(service.app, service.config.publicUrl)
    for (const one of operations) {
      // A session that ends would refuse everything after it.
      if (one.path.startsWith('/api/auth/')) continue
      for (const parameter of (one.operation['parameters'] ?? []) as readonly Parameter[]) {
        for (const text of ODD_TEXTS) {
          const { statusCode, body } = await answerTo(one, parameter, text)
          asked++
          // A pattern or a keyword of a schema says nothing to the reader.
          if (statusCode === 400 && /must match|\bNOT\b|[<>]=/.test(body)) failures.push(body)
          if (statusCode >= 500) {
            const place = `${one.method} ${one.path} ${parameter.name}`
            failures.push(`${statusCode}: ${place}=${JSON.stringify(text.slice(0, 40))}`)
          }
        }
      }
    }
    expect(asked).toBeGreaterThan(1_000)
    expect(failures).toEqual([])
  })
})
