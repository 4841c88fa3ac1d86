import createClient from 'openapi-fetch'
import type { components, paths } from './openapi.ts'

type ScorecardSpec = components['schemas']['ScorecardSpec']

export interface Outcome {
  readonly score: number
  readonly grade: string | null
  readonly pointsOfAge: number | undefined
  readonly warnings: readonly string[]
  readonly refusal: components['schemas']['ErrorBody']['error'] | undefined
}

const spec: ScorecardSpec = {
  name: 'Consumer loans',
  version: '1.0.0',
  target: 'default_12m',
  base_points: 480,
  features: [
    {
      name: 'age',
      type: 'numeric',
      bins: [
        { range: '(-Infinity, 25]', points: -12 },
        { range: '(25, Infinity)', points: 9.5 },
      ],
    },
    { name: 'purpose', type: 'categorical', bins: [{ value: 'car', points: 4 }] },
  ],
  scaling: { base_score: 500, base_odds: 20, pdo: 20 },
  risk_grades: [{ grade: 'A', min_score: 490, max_score: null }],
}

/** Signs in, deploys a card, creates a key and scores an applicant with it. */
export async function scoreAnApplicant(
  baseUrl: string,
  email: string,
  password: string,
): Promise<Outcome> {
  const client = createClient<paths>({ baseUrl })
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

  const login = await client.POST('/api/auth/login', { body: { email, password } })
  if (login.error !== undefined) throw new Error(login.error.message)
  const owner = as(login.data.access_token)

  const deployed = await client.POST('/v1/models/deploy', {
    ...owner,
    body: { spec, environment: 'production', auto_deploy: true },
  })
  const slug = deployed.data?.deployment?.slug
  if (slug === undefined) throw new Error(deployed.error?.error)

  const created = await client.POST('/v1/keys', { ...owner, body: { name: 'generated client' } })
  if (created.data === undefined) throw new Error(created.error.error)
  const server = as(created.data.key)
  const params = { path: { slug } }

  const scored = await client.POST('/v1/score/{slug}', {
    ...server,
    params,
    body: { age: 35, purpose: 'boat' },
  })
  if (scored.data === undefined) throw new Error(scored.error.message)
  const { score, risk_grade: grade, contributions, warnings } = scored.data

  const strict = await client.POST('/v1/score/{slug}', {
    ...server,
    params,
    body: { age: 35, strict_mode: true },
  })
  return {
    score,
    grade,
    pointsOfAge: contributions['age'],
    warnings: warnings.map((warning) =>
      typeof warning === 'string' ? warning : `${warning.type} ${warning.variable}`,
    ),
    refusal: strict.error?.error,
  }
}

/** What the document forbids: should one of these lines compile, the types say nothing. */
export async function misuse(baseUrl: string): Promise<void> {
  const client = createClient<paths>({ baseUrl })
  // @ts-expect-error no such endpoint
  await client.GET('/v1/score/{slug}')
  // @ts-expect-error the password is missing
  await client.POST('/api/auth/login', { body: { email: 'owner@lender.example' } })
  const order = { spec, auto_deploy: true }
  // @ts-expect-error no such environment
  await client.POST('/v1/models/deploy', { body: { ...order, environment: 'testing' } })
  const { base_points: _, ...incomplete } = spec
  await client.POST('/v1/models/deploy', {
    // @ts-expect-error the base points are missing
    body: { ...order, environment: 'staging', spec: incomplete },
  })
  const { data, error } = await client.GET('/v1/models', {
    // @ts-expect-error no such status
    params: { query: { status: 'retired' } },
  })
  // @ts-expect-error the list is without specifications
  data?.models[0]?.spec
  // @ts-expect-error no such code
  if (error?.error === 'model_is_king') throw new Error(error.message)
  // @ts-expect-error no such scope
  await client.POST('/v1/keys', { body: { name: 'a key', scopes: ['write'] } })
}
