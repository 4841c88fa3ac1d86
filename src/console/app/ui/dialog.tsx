import { Button, CloseButton } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { renewAnswers } from '../api/state.ts'
import { Failure, Waiting } from './states.tsx'

/** A native dialog: it holds the focus, and Escape closes it. The first field gets the focus. */
export function Dialog(props: {
  title: string
  onClose?: () => void
  isWide?: boolean
  /** True if only a button of the dialog closes it, as for a secret that is shown once. */
  mustAnswer?: boolean
  /** True if it hides the page behind it. */
  isCover?: boolean
  children: ReactNode
}) {
  const { title, onClose, isWide = false, mustAnswer = false, isCover = false, children } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    const shown = dialog.current
    shown?.showModal()
    const first = shown?.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea)')
    first?.focus()
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      className={isWide ? 'wide' : isCover ? 'cover' : undefined}
      // A browser lets a second Escape close any dialog.
      onClose={() => (mustAnswer ? dialog.current?.showModal() : onClose?.())}
      onCancel={(event) => mustAnswer && event.preventDefault()}
    >
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        {!mustAnswer && <CloseButton aria-label="Close" onClick={() => dialog.current?.close()} />}
      </div>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}

export type OpenDialog = (make: (close: () => void) => ReactNode) => void

/** The dialog of a page that is open, and a function that opens one. */
export function useDialog(): readonly [dialog: ReactNode, open: OpenDialog] {
  const [dialog, setDialog] = useState<ReactNode>(null)
  return [dialog, (make) => setDialog(make(() => setDialog(null)))]
}

interface FormProps {
  readonly send: () => Promise<unknown>
  readonly submit?: string
  readonly busy?: string
  readonly isDanger?: boolean
  /** Why the button can't be pressed yet; null if it can. */
  readonly missing?: string | null
  /** Beginnings of the keys of what it changes; the paths of the API. */
  readonly changes?: readonly string[]
  readonly onDone?: (() => void) | undefined
  readonly onCancel?: (() => void) | undefined
  readonly children: ReactNode
}

/**
 * A form that sends something. It shows that it is busy and why it failed, and ends the answers of
 * `changes` afterwards, so that pages ask again.
 */
export function Form({
  send,
  submit = 'Save',
  busy = 'Saving …',
  isDanger = false,
  missing = null,
  changes = [],
  onDone,
  onCancel,
  children,
}: FormProps) {
  const sending = useMutation({
    mutationFn: send,
    onSuccess: async () => {
      const ended = renewAnswers(changes)
      onDone?.()
      await ended
    },
  })
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (missing === null && !sending.isPending) sending.mutate()
  }
  const hint = useId()
  return (
    <form onSubmit={onSubmit} className="form">
      {children}
      <div className="form-end">
        <Waiting isPending={sending.isPending} />
        {sending.error && <Failure error={sending.error} />}
        {missing !== null && (
          <p className="small muted" id={hint}>
            {missing}
          </p>
        )}
        {onCancel && (
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        )}
        <Button
          type="submit"
          {...(isDanger && { color: 'red' })}
          aria-disabled={missing !== null || sending.isPending}
          aria-busy={sending.isPending}
          {...(missing !== null && { 'aria-describedby': hint })}
          className={missing === null ? '' : 'not-yet'}
        >
          {sending.isPending ? busy : submit}
        </Button>
      </div>
    </form>
  )
}

export function FormDialog(props: FormProps & { title: string; onClose: () => void }) {
  const { title, onClose, ...form } = props
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onDone={onClose} onCancel={onClose} {...form} />
    </Dialog>
  )
}
