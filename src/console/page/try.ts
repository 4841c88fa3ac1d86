import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { KEY_PREFIX } from '../../access/bearer.ts'
import { ApiError, api, type Session, scoreWithKey } from './api.ts'
import { manages } from './format.ts'
import { LanguageField } from './reason-list.ts'
import { hasReasons, languageName, languagesOf } from './reason-words.ts'
import { go, useAction, useLoaded } from './state.ts'
import { type Applicant, TrialForm } from './trial-form.ts'
import { forgetTrialKey, makeTrialKey, trialKeyFor, useOwnKey } from './trial-key.ts'
import { TrialResult } from './trial-result.ts'
import type { Deployment, ListedDeployment, Model, ScoreResult } from './types.ts'
import { Empty, Failure, Field, Notice, Page, Shown, Submit } from './ui.ts'

/** Reasons that a trial asks for: more are unlikely to help. */
const REASONS = 4

export function TryPage({ slug, session }: { slug: string | null; session: Session }) {
  const listed = useLoaded(
    () => api<{ deployments: readonly ListedDeployment[] }>('GET', 'v1/deployments?limit=200'),
    [],
  )
  const choose = (event: Event) => go(`try/${(event.currentTarget as HTMLSelectElement).value}`)
  return html`<${Page} title="Try it">
    <${Shown} of=${listed}>${({ deployments }: { deployments: readonly ListedDeployment[] }) =>
      deployments.length === 0
        ? html`<${Empty} title="Nothing is deployed yet"><p>There must be a <a href="#/models/new">deployed scorecard</a> to score an applicant.</p><//>`
        : html`<${Field} label="Deployment">${(
            field: object,
          ) => html`<select ...${field} value=${slug ?? ''} onChange=${choose}>
            ${slug === null && html`<option value="">Choose …</option>`}
            ${deployments.map((one) => html`<option value=${one.slug}>${one.name}: ${one.champion_model.name} ${one.champion_model.version}${one.is_active ? '' : ' (inactive)'}</option>`)}
          </select>`}<//>`}<//>
    ${slug !== null && html`<${Trial} key=${slug} slug=${slug} session=${session} />`}
  <//>`
}

interface Subject {
  readonly deployment: Deployment
  readonly champion: Model
}

function Trial({ slug, session }: { slug: string; session: Session }) {
  const loaded = useLoaded(async () => {
    const deployment = await api<Deployment>('GET', `v1/deployments/${slug}`)
    const champion = await api<Model>('GET', `v1/models/${deployment.champion_model.id}`)
    return { deployment, champion }
  }, [slug])
  const [, setKeyRound] = useState(0)
  const [lang, setLang] = useState('en')
  const [answered, setAnswered] = useState<{
    result: ScoreResult
    model: Model
    applicant: Applicant
  } | null>(null)
  const action = useAction()
  const onKey = () => setKeyRound((n) => n + 1)
  const score =
    ({ deployment, champion }: Subject) =>
    (applicant: Applicant) =>
      action.run(async () => {
        const key = trialKeyFor(champion.environment)
        if (key === null) return
        const wanted = hasReasons(champion.spec) ? lang : null
        const result = await scoreWithReasons(key.secret, { slug, applicant, lang: wanted })
        const isChampion =
          result.model_version === champion.version && result.model_name === champion.name
        const other = deployment.challengers.find(
          (one) =>
            one.model_version === result.model_version && one.model_name === result.model_name,
        )
        const model =
          isChampion || other === undefined
            ? champion
            : await api<Model>('GET', `v1/models/${other.model_id}`)
        setAnswered({ result, model, applicant })
        requestAnimationFrame(() => document.getElementById('trial-result')?.focus())
      })
  return html`<${Shown} of=${loaded}>${(found: Subject) => html`
    <${KeyPanel} environment=${found.champion.environment} session=${session} onKey=${onKey} />
    ${answered && html`<${TrialResult} ...${answered} />`}
    ${action.error && html`<${Failure} error=${action.error} />`}
    <${LanguageField} languages=${languagesOf(found.champion.spec)} lang=${lang} nameOf=${languageName} onChoose=${setLang} />
    <${TrialForm} spec=${found.champion.spec} action=${action} hasKey=${trialKeyFor(found.champion.environment) !== null} onScore=${score(found)} />
  `}<//>`
}

interface TrialOrder {
  readonly slug: string
  readonly applicant: Applicant
  /** Language of reasons; null for none. */
  readonly lang: string | null
}

/**
 * A score with its reasons; without them where a challenger could answer that has none, or where
 * the model lacks its baseline. The service has scored nothing then.
 */
async function scoreWithReasons(
  secret: string,
  { slug, applicant: body, lang }: TrialOrder,
): Promise<ScoreResult> {
  const score = (query: string) => scoreWithKey<ScoreResult>(secret, { slug, body, query })
  if (lang === null) return score('')
  try {
    return await score(`reasons=${REASONS}&lang=${encodeURIComponent(lang)}`)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'reasons_not_configured') return score('')
    throw error
  }
}

interface KeyPanelProps {
  readonly environment: string
  readonly session: Session
  readonly onKey: () => void
}

/**
 * Scoring needs an API key from every user, so that the log shows which scores are trials. Users
 * who may create keys get a temporary one; others enter their own.
 */
function KeyPanel({ environment, session, onKey }: KeyPanelProps) {
  const action = useAction()
  const key = trialKeyFor(environment)
  const forget = () =>
    action.run(async () => {
      await forgetTrialKey()
      onKey()
    })
  const bring = (event: Event) => {
    event.preventDefault()
    const secret = String(new FormData(event.currentTarget as HTMLFormElement).get('key')).trim()
    action.run(async () => {
      await forgetTrialKey()
      useOwnKey(secret)
      onKey()
    })
  }
  const make = () =>
    action.run(async () => {
      await forgetTrialKey()
      await makeTrialKey(environment)
      onKey()
    })
  const counts = `What you score here is a real answer: it is in the score log and counts in the stats of this ${environment} deployment.`
  if (key !== null) {
    return html`<${Notice}>
      <p>Scores with ${key.madeId === null ? 'the key that you entered' : `a temporary key (${key.environment})`}, which only this page holds. ${counts}</p>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <button type="button" onClick=${forget}>${key.madeId === null ? 'Forget the key' : 'Revoke the key'}</button>
    <//>`
  }
  return html`<section class="panel" aria-label="API key">
    <h2>A key to score with</h2>
    <p>Scoring needs an API key. Only this page holds it, until you close it. ${counts}</p>
    ${manages(session.role) && html`<p><button type="button" class="primary" onClick=${make}>${action.isBusy ? 'Making a key …' : 'Make a key for this visit'}</button> <span class="hint">It is revoked when you sign out, close the page or revoke it.</span></p>`}
    <form class="inline" onSubmit=${bring}>
      <${Field} label="Or use a key that you have" hint=${`With the scope score, for ${environment}`}>${(
        field: object,
      ) =>
        html`<input ...${field} name="key" type="password" autocomplete="off" required pattern=${`\\s*${KEY_PREFIX}.+`} title=${`A key begins with ${KEY_PREFIX}`} />`}<//>
      <${Submit} action=${action} busy="…" kind="">Use this key<//>
    </form>
    ${action.error && html`<${Failure} error=${action.error} />`}
  </section>`
}
