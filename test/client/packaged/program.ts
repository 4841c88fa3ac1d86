import { NoAnswerError, ScorelineClient, ScorelineError } from 'scoreline-client'

interface LoanApplication {
  readonly age: number
  readonly purpose: string | null
}

/** Signs in, deploys a card, creates a key, and scores with it. */
export async function scoreAnApplicant(url: string, email: string, password: string) {
  const anyone = new ScorelineClient({ url })
  const signedIn = await anyone.call('POST', '/api/auth/login', { body: { email, password } })
  const manager = new ScorelineClient({ url, token: signedIn.access_token })
  const { deployment } = await manager.deploy({
    spec: {
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
    },
    environment: 'production',
    auto_deploy: true,
  })
  const { key } = await manager.call('POST', '/v1/keys', { body: { name: 'origination' } })
  const client = new ScorelineClient({ url, token: key, timeoutMs: 5_000 })
  const applicant: LoanApplication = { age: 35, purpose: null }
  const slug = deployment?.slug ?? ''
  const { score, pd } = await client.score(slug, applicant, { reference: 'A-1' })
  const refusal = await client
    .score(slug, { age: 35 }, { strictMode: true })
    .catch((error: unknown) => (error instanceof ScorelineError ? error.code : 'another'))
  return { score, hasPd: pd !== null, refusal }
}

/** What the types forbid: where one of these lines compiles, they say nothing. */
export async function misuse(client: ScorelineClient): Promise<void> {
  // @ts-expect-error no such path
  await client.call('GET', '/v1/score/{slug}')
  // @ts-expect-error the path needs its parameter
  await client.call('GET', '/v1/models/{id}')
  // @ts-expect-error the password is missing
  await client.call('POST', '/api/auth/login', { body: { email: 'owner@lender.example' } })
  // @ts-expect-error no such parameter
  await client.call('GET', '/v1/models', { query: { colour: 'red' } })
  // @ts-expect-error no such environment
  await client.call('GET', '/v1/models', { query: { environment: 'testing' } })
  const list = await client.call('GET', '/v1/models')
  // @ts-expect-error the list is without specifications
  list.models[0]?.spec
  // @ts-expect-error a boolean is not the value of a feature
  await client.score('dep_1', { age: 35, isEmployed: true })
  // @ts-expect-error neither is a date
  await client.score('dep_1', { born: new Date() })
  // @ts-expect-error no such option
  await client.score('dep_1', { age: 35 }, { timeout: 5 })
  const scored = await client.score('dep_1', { age: 35 })
  // @ts-expect-error the grade may be null
  scored.risk_grade.length
  // @ts-expect-error a promotion may answer a change request, which has no such field
  await client.call('POST', '/v1/deployments/{slug}/promote', promotion).then((a) => a.promoted)
  try {
    await client.score('dep_1', { age: 35 })
  } catch (error) {
    // @ts-expect-error no such code
    if (error instanceof ScorelineError && error.code === 'model_is_king') throw error
    // @ts-expect-error no such reason
    if (error instanceof NoAnswerError && error.reason === 'too_slow') throw error
  }
}

const promotion = { path: { slug: 'dep_1' }, body: { challenger_id: 'ch_1' } }
