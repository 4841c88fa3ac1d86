import {
  Button,
  type ButtonProps,
  Checkbox,
  NativeSelect,
  type NativeSelectProps,
  TextInput,
  type TextInputProps,
} from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ChangeEvent, type ReactNode, useState } from 'react'
import { deploymentChoices, useDeployed } from '../api/deployed.ts'
import { readFile, saveFile } from '../api/send.ts'
import { renewAnswers } from '../api/state.ts'
import { Failure } from './states.tsx'

type Typed = ChangeEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>

/** Gives a field what it needs to show a text and to change it. */
export function typed(value: string, set: (text: string) => void) {
  return { value, onChange: ({ currentTarget }: Typed) => set(currentTarget.value) }
}

/** Choices of a select from their values and labels, in this order; a value is no whole number. */
export function listChoices<Value extends string>(labels: Readonly<Record<Value, string>>) {
  return Object.entries<string>(labels).map(([value, label]) => ({ value: value as Value, label }))
}

/** The texts of a form; `bind` gives what a field needs. */
export function useFields<Name extends string>(start: Readonly<Record<Name, string>>) {
  const [fields, setFields] = useState<Readonly<Record<Name, string>>>(start)
  const set = (name: Name, value: string) => setFields((now) => ({ ...now, [name]: value }))
  const bind = (name: Name) => ({ name, ...typed(fields[name] ?? '', (text) => set(name, text)) })
  return { fields, set, bind }
}

export function Box(props: {
  label: string
  isTicked: boolean
  tick: (isTicked: boolean) => void
}) {
  const { label, isTicked, tick } = props
  return (
    <Checkbox
      label={label}
      checked={isTicked}
      onChange={({ currentTarget }) => tick(currentTarget.checked)}
    />
  )
}

/** A field for a file; choosing the same file again, corrected, counts as a choice. */
export function FileField(props: TextInputProps & { onChoose: (file: File | null) => void }) {
  const { onChoose, ...field } = props
  return (
    <TextInput
      type="file"
      onClick={({ currentTarget }) => {
        currentTarget.value = ''
      }}
      onChange={({ currentTarget }) => onChoose(currentTarget.files?.[0] ?? null)}
      {...field}
    />
  )
}

/** A choice of several things by their names. */
export function Boxes(props: {
  legend: string
  choices: readonly { readonly value: string; readonly label: string }[]
  chosen: string[]
  onChange: (chosen: string[]) => void
}) {
  const { legend, choices, chosen, onChange } = props
  return (
    <Checkbox.Group value={chosen} onChange={onChange}>
      <fieldset className="boxes">
        <legend>{legend}</legend>
        {choices.map((choice) => (
          <Checkbox key={choice.value} {...choice} />
        ))}
      </fieldset>
    </Checkbox.Group>
  )
}

/**
 * A button that does something at once, and says why it failed. It ends the answers of `changes`
 * afterwards, so that pages ask again.
 */
export function Act(
  props: ButtonProps & {
    act: () => Promise<unknown>
    changes?: readonly string[]
    /** Its name for a screen reader, where its text does not say what it is about. */
    name?: string
    children: ReactNode
  },
) {
  const { act, changes = [], name, ...button } = props
  const acting = useMutation({ mutationFn: act, onSuccess: () => renewAnswers(changes) })
  return (
    <>
      <Button
        variant="default"
        aria-label={name}
        aria-busy={acting.isPending}
        aria-disabled={acting.isPending}
        onClick={() => acting.isPending || acting.mutate()}
        {...button}
      />
      {acting.error && <Failure error={acting.error} />}
    </>
  )
}

export function Download(props: {
  path: string
  name: string
  accept?: string
  children: ReactNode
}) {
  const { path, name, accept, children } = props
  return (
    <Act size="compact-sm" act={async () => saveFile(name, await readFile(path, accept))}>
      {children}
    </Act>
  )
}

/** A choice of a deployment; `none` stands for no choice. */
export function DeploymentSelect({ none, ...field }: NativeSelectProps & { none: string }) {
  const choices = deploymentChoices(useDeployed().data ?? [])
  return (
    <NativeSelect label="Deployment" data={[{ value: '', label: none }, ...choices]} {...field} />
  )
}
