"""Transcontinental: the card game for two of Central Pacific against Union Pacific, rules `transcontinental/1`."""
