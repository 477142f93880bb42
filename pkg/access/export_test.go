package access

const MaxRemembered = maxRemembered
