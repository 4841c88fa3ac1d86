import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, readData } from '../../api/client.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { listCategories } from '../../ui/card.ts'
import { typed } from '../../ui/fields.tsx'
import { readNumber } from '../../ui/figures.ts'
import { LanguageChoice } from '../../ui/language-choice.tsx'
import { Panel } from '../../ui/page.tsx'
import { Failure, Notice } from '../../ui/states.tsx'
import { DeploymentPage, useAbout } from '../deployment/frame.tsx'
import { findExample, Result, remarkOn, type Texts } from './result.tsx'

type Feature = Schemas['Feature']

const OTHER = '\u0000other'
const REASONS = 4

/** Scores an applicant as the deployment would, without a key; nothing of it counts. */
export default function TrialPage() {
  return (
    <DeploymentPage title="Try it" facts={['Nothing counts: no quota, no log, no report']}>
      <OfChampion />
    </DeploymentPage>
  )
}

/** Another champion has other fields. */
function OfChampion() {
  return <Trial key={useAbout().champion.id} />
}

function Trial() {
  const { deployment, champion } = useAbout()
  const { features, reasons } = champion.spec
  const [{ lang: language = 'en' }] = useAddress()
  const [texts, setTexts] = useState<Texts>({})
  const trying = useMutation({
    mutationFn: (tried: Texts) => {
      const query = reasons === undefined ? {} : { reasons: REASONS, lang: language }
      const params = { path: { slug: deployment.slug }, query }
      const init = { params, body: makeApplicant(features, tried) }
      return readData(api.POST('/v1/deployments/{slug}/trial', init))
    },
  })
  const wrong = features.find((one) => isWrong(one, texts[one.name] ?? ''))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (wrong === undefined) return trying.mutate(texts)
    // A former score must not look like that of what is typed.
    trying.reset()
    document.getElementById(fieldId(wrong.name))?.focus()
  }
  const examples = () =>
    Object.fromEntries(features.map((feature, at) => [feature.name, findExample(feature, at)]))
  return (
    <div className="columns">
      <Panel
        title="Applicant"
        actions={
          <>
            <Button size="xs" variant="default" onClick={() => setTexts(examples())}>
              Fill in an example
            </Button>
            <Button size="xs" variant="default" onClick={() => setTexts({})}>
              Clear
            </Button>
          </>
        }
      >
        <form onSubmit={submit} className="form" noValidate>
          <div className="trial-fields">
            {features.map((feature) => (
              <Field
                key={feature.name}
                feature={feature}
                text={texts[feature.name] ?? ''}
                onChange={(text) => setTexts({ ...texts, [feature.name]: text })}
              />
            ))}
          </div>
          <p className="small muted">
            An empty field is a missing value: it gets the points of the bin for missing values, or
            0 without one.
          </p>
          <LanguageChoice spec={champion.spec} />
          <Button type="submit" aria-disabled={trying.isPending}>
            {trying.isPending ? 'Scoring …' : 'Score'}
          </Button>
        </form>
      </Panel>
      <div aria-live="polite">
        {trying.error && <Failure error={trying.error} />}
        {trying.data ? (
          <>
            {trying.variables !== texts && (
              <Notice kind="watch">
                This was the score before the last change of the form. Press Score for the new one.
              </Notice>
            )}
            <Result result={trying.data} texts={trying.variables} />
          </>
        ) : (
          <Notice>The score and what made it will be here.</Notice>
        )}
      </div>
    </div>
  )
}

interface FieldProps {
  readonly feature: Feature
  readonly text: string
  readonly onChange: (text: string) => void
}

function fieldId(name: string): string {
  return `trial ${name}`
}

function Field({ feature, text, onChange }: FieldProps) {
  const { featureName } = useAbout()
  const { name, type } = feature
  const categories = type === 'categorical' ? listCategories(feature) : []
  const isOther = text !== '' && !categories.includes(text)
  const remark = text === '' || text === OTHER ? null : remarkOn(feature, text)
  const shared = {
    id: fieldId(name),
    label: featureName(name),
    ...(isWrong(feature, text)
      ? { error: 'Not a number. 3,5 and 3.5 are; a comma before three digits could be either.' }
      : remark !== null && { description: remark }),
  }
  if (type === 'numeric') {
    return <TextInput {...shared} inputMode="decimal" {...typed(text, onChange)} />
  }
  return (
    <div>
      <NativeSelect
        {...shared}
        data={[
          { value: '', label: '(missing)' },
          ...categories.map((value) => ({ value, label: value })),
          { value: OTHER, label: 'Another value …' },
        ]}
        {...typed(isOther ? OTHER : text, onChange)}
      />
      {isOther && (
        <TextInput
          aria-label={`Another value of ${featureName(name)}`}
          {...typed(text === OTHER ? '' : text, (other) => onChange(other || OTHER))}
        />
      )}
    </div>
  )
}

function isWrong({ type }: Feature, text: string): boolean {
  return type === 'numeric' && text.trim() !== '' && readNumber(text) === null
}

function makeApplicant(features: readonly Feature[], texts: Texts): Schemas['ScoreRequest'] {
  return Object.fromEntries(
    features.map(({ name, type }) => {
      const text = texts[name] ?? ''
      if (text.trim() === '' || text === OTHER) return [name, null]
      return [name, type === 'numeric' ? readNumber(text) : text]
    }),
  )
}
